#include "transports/verbs/send_channel.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace rondo::verbs {

namespace {

// Shorter payloads are copied even from memory that the device knows. The copy is assumed to cost
// less than a second part of the work request, which the device must fetch, and than the wait for a
// credit at the end of the call. No adapter has measured this. On Soft-RoCE sending in place was
// never slower. Memory of another device is sent in place whatever its length.
constexpr std::size_t least_from_place = 4096;
// A peer that takes part in the call sends its credit sooner.
constexpr std::chrono::milliseconds longest_wait_for_credit{20};

}  // namespace

VerbsSendChannel::VerbsSendChannel(const Edge& edge, int pairs, std::vector<PortName> theirs)
    : ChannelEnd(edge), pairs_(pairs), theirs_(std::move(theirs)) {}

VerbsSendChannel::~VerbsSendChannel() { say_goodbye(number_); }

void VerbsSendChannel::begin(UniqueFd socket) {
  handshake_ = Handshake(std::move(socket));
  met_ = true;
  try {
    offer();
  } catch (const Error& failure) {
    fail(failure);
    handshake_ = {};
  }
}

void VerbsSendChannel::offer() {
  // Credits that may be on their way at a time: one for each frame, and as many that other queue
  // pairs have overtaken with later ones.
  const std::uint32_t credits = 2 * edge_.slots.count;
  for (int pair = 0; pair < pairs_; ++pair) {
    OpenPort& port = edge_.ports.choose(theirs_, edge_.lane, pair, edge_.peer);
    // Frames without credit, silent sends, and one request for an acknowledgement.
    add_endpoint(port, {.sends = edge_.slots.count + SendQueue::silent_sends + 2,
                        .receives = pair == 0 ? credits : 1});
  }
  register_slots();
  for (std::uint32_t i = 0; i < credits; ++i) endpoints_[0]->receive_credit();
  const bool said = handshake_.say({.kind = HandshakeKind::offer,
                                    .slot_bytes = edge_.slots.bytes,
                                    .slots = edge_.slots.count,
                                    .endpoints = addresses()});
  if (!said) throw left();
}

void VerbsSendChannel::take(const HandshakeMessage& message) {
  if (message.kind == HandshakeKind::refusal) {
    throw error(message.code, "the peer refuses the channel: " + message.text,
                "use the same settings on every rank; look at that rank's own output");
  }
  if (message.kind != HandshakeKind::answer || open_ ||
      message.endpoints.size() != endpoints_.size()) {
    throw error(ErrorCode::internal, "the peer speaks another verbs protocol",
                "use the same version of rondo on every rank");
  }
  for (std::size_t i = 0; i < endpoints_.size(); ++i) endpoints_[i]->connect(message.endpoints[i]);
  open_ = true;
}

void VerbsSendChannel::peer_left(const HandshakeMessage& goodbye) {
  credited_ = goodbye.frames;
  fail(left());
}

bool VerbsSendChannel::may_send() {
  const Endpoint& endpoint = endpoint_of(number_);
  return number_ - credited_ < edge_.slots.count && endpoint.has_room() && !endpoint.failure();
}

void VerbsSendChannel::look() {
  edge_.ports.poll();
  throw_failure();
  credited_ += edge_.credit.granted - static_cast<std::uint32_t>(credited_);
}

std::span<std::byte> VerbsSendChannel::acquire() {
  if (failure_) [[unlikely]]
    throw Error(*failure_);
  if (!open_) return {};
  if (!may_send()) {
    look();
    if (!may_send()) return {};
  }
  return {slot(number_) + Slots::payload_offset, edge_.slots.bytes};
}

void VerbsSendChannel::write_header(std::size_t bytes, FrameTag tag, Travel travel) {
  const FrameHeader header{
      .fingerprint = tag.fingerprint, .checksum = tag.checksum, .tail = {bytes, number_, travel}};
  std::memcpy(slot(number_) + Slots::header_offset, &header, sizeof(header));
}

/// The next frame, by `send(endpoint)`.
template <class Send>
void VerbsSendChannel::post(Send send) {
  try {
    send(endpoint_of(number_));
  } catch (const Error& failure) {
    fail(failure);
    throw;
  }
  ++number_;
}

/// The line is composed at the slot's beginning, where the header of any frame ends it.
void VerbsSendChannel::commit_line(std::size_t bytes, FrameTag tag) {
  static_assert(Slots::header_offset == Line::header_offset);
  const std::size_t begin = Line::payload_offset(bytes);
  std::byte* const line = slot(number_);
  for (std::size_t done = 0; done < bytes; done += 8)  // no call, which takes longer
    std::memcpy(line + begin + done, line + Slots::payload_offset + done, 8);
  write_header(bytes, tag, Travel::line);
  post([&](Endpoint& endpoint) {
    endpoint.write({line + begin, Line::bytes - begin, endpoint.slots_key()},
                   edge_.slots.of(number_) * Line::bytes + begin);
  });
}

void VerbsSendChannel::commit(std::size_t bytes, FrameTag tag) {
  if (failure_) throw Error(*failure_);
  if (!open_ || !may_send() || bytes > edge_.slots.bytes) {
    throw error(ErrorCode::internal, "commit() without acquire()", {});
  }
  if (bytes <= Line::longest_payload) return commit_line(bytes, tag);
  write_header(bytes, tag, Travel::staged);
  post([&](Endpoint& endpoint) { endpoint.send(piece(endpoint, number_, bytes)); });
}

std::size_t VerbsSendChannel::send_from(std::span<const std::byte> bytes, FrameTag tag) {
  if (bytes.empty() || bytes.size() > edge_.slots.bytes)
    throw error(ErrorCode::internal, "send_from() takes frames of 1 byte to a slot", {});
  const std::span<std::byte> slot = acquire();
  if (slot.empty()) return 0;
  RegionCache& regions = endpoint_of(number_).port().regions();
  std::optional<std::uint32_t> key;
  if (bytes.size() >= least_from_place) key = regions.key(bytes);
  if (!key) {
    std::memcpy(slot.data(), bytes.data(), bytes.size());
    commit(bytes.size(), tag);
    return bytes.size();
  }
  write_header(bytes.size(), tag, Travel::zero_copy);
  post([&](Endpoint& endpoint) {
    endpoint.send(piece(endpoint, number_, 0), {bytes.data(), bytes.size(), *key});
  });
  lent_ = number_;
  awaited_ = false;
  reminded_.reset();
  Outstanding::enlist(edge_.outstanding.zero_copy, this);
  return bytes.size();
}

bool VerbsSendChannel::holds_place() const {
  // A channel that failed will send nothing that counts, and keeps nobody waiting.
  if (failure_) return false;
  const auto uncredited =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(lent_) - edge_.credit.granted);
  if (uncredited <= 0) return false;
  return std::ranges::any_of(endpoints_, [](const auto& end) { return end->holds_place(); });
}

bool VerbsSendChannel::handed_over() const {
  awaited_ = holds_place();
  return !awaited_;
}

void VerbsSendChannel::remind(Clock::time_point now) {
  if (!awaited_) return;
  if (!reminded_) reminded_ = now;
  if (now - *reminded_ >= longest_wait_for_credit) ask_acknowledgements();
}

void VerbsSendChannel::ask_acknowledgements() const {
  for (const auto& endpoint : endpoints_) {
    if (endpoint->holds_place()) endpoint->ask_acknowledgement();
  }
}

bool VerbsSendChannel::flushed() const {
  // What the peer has released has arrived, whether or not its device could still say so.
  if (credited_ == number_) return true;
  if (edge_.credit.granted == static_cast<std::uint32_t>(number_)) return true;
  const auto acknowledged = [](const auto& endpoint) { return endpoint->acknowledged(); };
  if (std::ranges::all_of(endpoints_, acknowledged)) return true;
  // A queue pair may also have failed because the peer has taken everything and gone: progress()
  // finds out which.
  if (failure_) throw Error(*failure_);
  for (const auto& endpoint : endpoints_) endpoint->ask_acknowledgement();
  return false;
}

}  // namespace rondo::verbs
