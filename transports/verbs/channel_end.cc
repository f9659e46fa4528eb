#include "transports/verbs/channel_end.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace rondo::verbs {
namespace {

constexpr const char* its_own_output = "look at that rank's own output for why it ended";

}  // namespace

void ChannelEnd::fail(const Error& error) {
  if (!failure_) failure_ = error;
}

Error ChannelEnd::error(ErrorCode code, std::string message, std::string remedy) const {
  return Error(code, std::move(message),
               {.rank = edge_.rank, .peer = edge_.peer, .remedy = std::move(remedy)});
}

Error ChannelEnd::left() const {
  return error(ErrorCode::peer_lost, "the peer closed its end of the channel", its_own_output);
}

bool ChannelEnd::read_handshake() {
  if (!handshake_) return false;
  bool moved = false;
  try {
    while (const std::optional<HandshakeMessage> message = handshake_.hear()) {
      moved = true;
      if (message->kind == HandshakeKind::goodbye) {
        peer_left(*message);
        handshake_ = {};
        return true;
      }
      take(*message);
    }
    if (!handshake_.ended()) return moved;
    fail(error(ErrorCode::peer_lost, "the peer process ended or closed its connection",
               its_own_output));
  } catch (const Error& failure) {
    fail(failure);
  }
  handshake_ = {};
  return true;
}

void ChannelEnd::fail_on(const OpenPort& port, const ibv_qp* pair, const Error& failure) {
  ErrorDetails details = failure.details();
  details.peer = edge_.peer;
  for (const auto& endpoint : endpoints_) {
    if (&endpoint->port() == &port && (pair == nullptr || endpoint->is(pair)))
      endpoint->fail(Error(failure.code(), failure.message(), details));
  }
}

const Error* ChannelEnd::find_break() {
  if (!open_ || failure_ || !handshake_) return nullptr;
  for (const auto& endpoint : endpoints_) {
    if (!endpoint->failure()) continue;
    fail(*endpoint->failure());
    return &*failure_;
  }
  return nullptr;
}

void ChannelEnd::add_endpoint(OpenPort& port, Endpoint::Capacity capacity) {
  endpoints_.push_back(
      std::make_unique<Endpoint>(port, edge_.ports.settings(), edge_.peer, capacity, edge_.credit));
}

void ChannelEnd::register_slots() {
  memory_ = RegisteredMemory(edge_.slots.count * edge_.slots.stride(), edge_.rank, edge_.peer);
  for (const auto& endpoint : endpoints_) {
    memory_.open_to(endpoint->port(), edge_.peer);
    endpoint->know_slots(memory_.key(endpoint->port()));
  }
}

Piece ChannelEnd::piece(const Endpoint& endpoint, std::uint64_t frame, std::size_t payload) const {
  return {slot(frame) + Slots::header_offset, sizeof(FrameHeader) + payload, endpoint.slots_key()};
}

std::vector<EndpointAddress> ChannelEnd::addresses() const {
  std::vector<EndpointAddress> all;
  for (const auto& endpoint : endpoints_) all.push_back(endpoint->address());
  return all;
}

void ChannelEnd::throw_failure() const {
  if (failure_) throw Error(*failure_);
  for (const auto& endpoint : endpoints_) {
    if (endpoint->failure()) throw Error(*endpoint->failure());
  }
}

void ChannelEnd::say_goodbye(std::uint64_t frames) noexcept {
  try {
    if (handshake_) handshake_.say({.kind = HandshakeKind::goodbye, .frames = frames});
  } catch (...) {
    return;  // no memory: the end of the connection tells the peer as well
  }
}

}  // namespace rondo::verbs
