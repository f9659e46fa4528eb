#include "transports/verbs/handshake.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

namespace rondo::verbs {
namespace {

constexpr std::uint32_t magic = 0x726e6477;
constexpr std::uint32_t most_endpoints = 128;
constexpr std::uint32_t most_text = 1024;

/// What comes before the endpoints and the text.
struct Head {
  std::uint32_t magic = verbs::magic;
  std::uint32_t kind = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t frames = 0;
  std::uint32_t slots = 0;
  std::uint32_t code = 0;
  std::uint32_t endpoints = 0;
  std::uint32_t text = 0;

  std::size_t letter_bytes() const {
    return sizeof(Head) + endpoints * sizeof(EndpointAddress) + text;
  }
};
static_assert(sizeof(Head) == 40 && std::is_trivially_copyable_v<Head>);

std::vector<std::byte> pack(const HandshakeMessage& message) {
  const std::string text = message.text.substr(0, most_text);
  const Head head{.kind = static_cast<std::uint32_t>(message.kind),
                  .slot_bytes = message.slot_bytes,
                  .frames = message.frames,
                  .slots = message.slots,
                  .code = static_cast<std::uint32_t>(message.code),
                  .endpoints = static_cast<std::uint32_t>(message.endpoints.size()),
                  .text = static_cast<std::uint32_t>(text.size())};
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  };
  append(std::as_bytes(std::span(&head, 1)));
  append(std::as_bytes(std::span(message.endpoints)));
  append(std::as_bytes(std::span(text)));
  return bytes;
}

bool fits(const Head& head) {
  return head.magic == magic && head.kind >= 1 && head.kind <= 4 &&
         head.endpoints <= most_endpoints && head.text <= most_text &&
         head.code <= static_cast<std::uint32_t>(ErrorCode::internal);
}

HandshakeMessage unpack(const Head& head, const std::byte* body) {
  HandshakeMessage message{.kind = static_cast<HandshakeKind>(head.kind),
                           .slot_bytes = head.slot_bytes,
                           .slots = head.slots,
                           .frames = head.frames,
                           .code = static_cast<ErrorCode>(head.code)};
  message.endpoints.resize(head.endpoints);
  const std::size_t bytes = head.endpoints * sizeof(EndpointAddress);
  if (bytes > 0) std::memcpy(message.endpoints.data(), body, bytes);
  message.text.assign(reinterpret_cast<const char*>(body + bytes), head.text);
  return message;
}

}  // namespace

bool Handshake::say(const HandshakeMessage& message) {
  const std::vector<std::byte> bytes = pack(message);
  return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

void Handshake::read() {
  std::array<std::byte, 1024> part;
  while (!ended_) {
    const ssize_t got = ::recv(socket_.get(), part.data(), part.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    ended_ = got <= 0;
    if (got > 0) inbox_.insert(inbox_.end(), part.begin(), part.begin() + got);
  }
}

std::optional<HandshakeMessage> Handshake::hear() {
  read();
  Head head;
  if (inbox_.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, inbox_.data(), sizeof(head));
  if (!fits(head)) {
    throw Error(ErrorCode::internal, "what arrived on a verbs connection is no handshake message",
                {.remedy = "use the same version of rondo on every rank"});
  }
  if (inbox_.size() < head.letter_bytes()) return std::nullopt;
  HandshakeMessage message = unpack(head, inbox_.data() + sizeof(head));
  inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<std::ptrdiff_t>(head.letter_bytes()));
  return message;
}

}  // namespace rondo::verbs
