#include "transports/verbs/receive_channel.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace rondo::verbs {

VerbsReceiveChannel::~VerbsReceiveChannel() {
  say_goodbye(number_);
  endpoints_.clear();  // go before the lines, which the peer may still write to
}

void VerbsReceiveChannel::begin(UniqueFd socket) {
  handshake_ = Handshake(std::move(socket));
  met_ = true;
}

void VerbsReceiveChannel::take(const HandshakeMessage& message) {
  try {
    check(message);
    answer(message);
  } catch (const Error& why) {
    refuse(why);
    throw;
  }
}

void VerbsReceiveChannel::check(const HandshakeMessage& offer) const {
  if (offer.kind != HandshakeKind::offer || open_ || offer.endpoints.empty()) {
    throw error(ErrorCode::internal, "the peer speaks another verbs protocol",
                "use the same version of rondo on every rank");
  }
  const auto pairs = static_cast<std::size_t>(edge_.ports.settings().queue_pairs);
  if (offer.endpoints.size() != pairs) {
    const auto who = [](int rank, std::size_t count) {
      return "rank " + std::to_string(rank) + " uses " + std::to_string(count);
    };
    throw error(ErrorCode::configuration,
                who(edge_.peer, offer.endpoints.size()) + " queue pairs a connection, " +
                    who(edge_.rank, pairs) + " (RONDO_IB_QPS_PER_CONNECTION)",
                "set the same RONDO_IB_QPS_PER_CONNECTION on every rank");
  }
  if (offer.slot_bytes == edge_.slots.bytes && offer.slots == edge_.slots.count) return;
  throw error(ErrorCode::configuration,
              "the peer uses slots of " + std::to_string(offer.slot_bytes) +
                  " bytes, this rank of " + std::to_string(edge_.slots.bytes),
              "set the same RONDO_SLOT_BYTES on every rank");
}

void VerbsReceiveChannel::answer(const HandshakeMessage& offer) {
  const auto pairs = static_cast<std::uint32_t>(offer.endpoints.size());
  const std::uint32_t receives = (edge_.slots.count + pairs - 1) / pairs;
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    const PortName there{.gid = gid_of(offer.endpoints[pair])};
    OpenPort& port =
        edge_.ports.choose(std::span(&there, 1), edge_.lane, static_cast<int>(pair), edge_.peer);
    add_endpoint(port, {.sends = 4 * SendQueue::silent_sends, .receives = receives});
  }
  register_slots();
  offer_lines();
  post_receives();
  for (std::size_t i = 0; i < pairs; ++i) endpoints_[i]->connect(offer.endpoints[i]);
  if (!handshake_.say({.kind = HandshakeKind::answer, .endpoints = addresses()})) throw left();
  open_ = true;
}

void VerbsReceiveChannel::offer_lines() {
  lines_ = RegisteredMemory(edge_.slots.count * Line::bytes, edge_.rank, edge_.peer);
  for (const auto& endpoint : endpoints_) {
    lines_.open_to(endpoint->port(), edge_.peer, Reachable::peers);
    endpoint->offer_lines(lines_.data(), lines_.peers_key(endpoint->port()));
  }
}

void VerbsReceiveChannel::refuse(const Error& why) {
  handshake_.say({.kind = HandshakeKind::refusal, .code = why.code(), .text = why.message()});
}

void VerbsReceiveChannel::post_receives() {
  for (; posted_ < number_ + edge_.slots.count; ++posted_) {
    Endpoint& endpoint = endpoint_of(posted_);
    // Frames in lines are released before the device reports that their receives are used up.
    if (!endpoint.may_receive()) break;
    endpoint.receive_frame(piece(endpoint, posted_, edge_.slots.bytes));
  }
  edge_.credit.released = static_cast<std::uint32_t>(posted_ - edge_.slots.count);
}

void VerbsReceiveChannel::peer_left(const HandshakeMessage& goodbye) {
  // Frames that the peer knew to have arrived are here. The rest may still come.
  constexpr std::chrono::seconds grace{1};
  sent_ = goodbye.frames;
  grace_ = Clock::now() + grace;
}

bool VerbsReceiveChannel::in_line() const {
  auto& tail = *reinterpret_cast<std::uint32_t*>(line() + Line::tail_offset);
  // acquire: the partner is the device, which has written what lies before the tail before it.
  const auto there =
      std::bit_cast<FrameTail>(std::atomic_ref(tail).load(std::memory_order_acquire));
  return there.is_of(number_, Travel::line);
}

bool VerbsReceiveChannel::arrived() const {
  const std::size_t pairs = endpoints_.size();
  return endpoint_of(number_).frames() > (pairs == 1 ? number_ : number_ / pairs);
}

const Frame* VerbsReceiveChannel::head(bool is_line) {
  const std::byte* const place = is_line ? line() : slot(number_);
  FrameHeader header;
  std::memcpy(&header, place + Slots::header_offset, sizeof(header));
  const std::size_t most = is_line ? Line::longest_payload : edge_.slots.bytes;
  const std::size_t bytes = header.tail.bytes();
  const Travel travel = header.tail.travel();
  if (!header.tail.is_of(number_, travel) || bytes > most) [[unlikely]] {
    fail(error(ErrorCode::internal, "what arrived in a slot is not the next frame",
               "use the same version of rondo on every rank; look for stray writes in that "
               "process"));
    throw Error(*failure_);
  }
  const std::size_t begin = is_line ? Line::payload_offset(bytes) : Slots::payload_offset;
  frame_ = {{header.fingerprint, header.checksum}, {place + begin, bytes}};
  holding_ = true;
  head_travel_ = travel;
  return &frame_;
}

const Frame* VerbsReceiveChannel::nothing() {
  if (sent_ && (number_ >= *sent_ || Clock::now() > grace_)) fail(left());
  throw_failure();
  if (posted_ < number_ + edge_.slots.count || edge_.credit.untold() >= edge_.slots.credit_step())
    give_slots_back(edge_.slots.credit_step());
  return nullptr;
}

void VerbsReceiveChannel::clear_line() {
  auto& tail = *reinterpret_cast<std::uint32_t*>(line() + Line::tail_offset);
  // relaxed: the device writes there again only once the peer has the credit for this frame, which
  // is posted later, and posting orders what came before it.
  std::atomic_ref(tail).store(0, std::memory_order_relaxed);
}

const Frame* VerbsReceiveChannel::peek() {
  if (holding_) return &frame_;
  if (!open_) [[unlikely]] {
    throw_failure();
    return nullptr;
  }
  if (in_line()) return head(true);
  if (!arrived()) edge_.ports.poll();
  if (in_line()) return head(true);  // also when its completion has come
  return arrived() ? head(false) : nothing();
}

void VerbsReceiveChannel::release() {
  if (!holding_) throw error(ErrorCode::internal, "release() without a frame", {});
  holding_ = false;
  if (head_travel_ == Travel::line) clear_line();
  ++number_;
  if (head_travel_ == Travel::zero_copy) {
    lent_ = number_;
    Outstanding::enlist(edge_.outstanding.credits, this);
  }
  // The last one waits until there is time, or for the next one: an answer goes first.
  if (number_ + edge_.slots.count <= posted_ + 1) return;
  if (!endpoint_of(posted_).may_receive()) edge_.ports.poll();
  give_slots_back(edge_.slots.credit_step());
}

bool VerbsReceiveChannel::owes() const {
  if (failure_ || sent_) return false;
  const std::uint64_t told = posted_ - edge_.slots.count - edge_.credit.untold();
  return lent_ > told;
}

void VerbsReceiveChannel::give_slots_back(std::uint32_t step) {
  // Once the peer is gone only what has arrived matters.
  if (failure_ || sent_) return;
  try {
    post_receives();
    if (edge_.credit.untold() < step) return;
    Endpoint& endpoint = *endpoints_[0];
    if (!endpoint.has_room()) edge_.ports.poll();
    if (endpoint.has_room()) endpoint.send_credit();  // else the next time
  } catch (const Error& failure) {
    fail(failure);
  }
}

}  // namespace rondo::verbs
