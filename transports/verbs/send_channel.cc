#include "transports/verbs/send_channel.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace rondo::verbs {

VerbsSendChannel::VerbsSendChannel(const Edge& edge, int pairs, std::vector<RailName> theirs)
    : ChannelEnd(edge), pairs_(pairs), theirs_(std::move(theirs)) {}

VerbsSendChannel::~VerbsSendChannel() { say_goodbye(number_); }

void VerbsSendChannel::begin(UniqueFd socket) {
  letters_ = Correspondence(std::move(socket));
  met_ = true;
  try {
    offer();
  } catch (const Error& failure) {
    fail(failure);
    letters_ = {};
  }
}

void VerbsSendChannel::offer() {
  // Credits that may be on their way at a time: a step each, and one that is being answered.
  const std::uint32_t credits = edge_.slots.count / edge_.slots.credit_step() + 2;
  for (int pair = 0; pair < pairs_; ++pair) {
    Rail& rail = edge_.rails.choose(theirs_, edge_.lane, pair, edge_.peer);
    // Frames without credit, those done silently, and a question whether all have arrived.
    add_endpoint(rail, {.sends = edge_.slots.count + Endpoint::silent_sends + 2,
                        .receives = pair == 0 ? credits : 1});
  }
  register_slots();
  for (std::uint32_t i = 0; i < credits; ++i) endpoints_[0]->receive_credit();
  const bool said = letters_.say({.kind = LetterKind::offer,
                                  .slot_bytes = edge_.slots.bytes,
                                  .slots = edge_.slots.count,
                                  .endpoints = addresses()});
  if (!said) throw left();
}

void VerbsSendChannel::take(const Letter& letter) {
  if (letter.kind == LetterKind::refusal) {
    throw error(letter.code, "the peer refuses the channel: " + letter.text,
                "the same settings on every rank; look at that rank's own output");
  }
  if (letter.kind != LetterKind::answer || open_ || letter.endpoints.size() != endpoints_.size()) {
    throw error(ErrorCode::internal, "the peer speaks another verbs protocol",
                "the same rondo on every rank");
  }
  for (std::size_t i = 0; i < endpoints_.size(); ++i) endpoints_[i]->connect(letter.endpoints[i]);
  open_ = true;
}

void VerbsSendChannel::peer_left(const Letter& goodbye) {
  credited_ = goodbye.frames;
  fail(left());
}

bool VerbsSendChannel::may_send() {
  const Endpoint& endpoint = endpoint_of(number_);
  return number_ - credited_ < edge_.slots.count && endpoint.has_room() && !endpoint.failure();
}

void VerbsSendChannel::look() {
  edge_.rails.poll();
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

void VerbsSendChannel::commit(std::size_t bytes, std::uint64_t fingerprint) {
  if (failure_) throw Error(*failure_);
  if (!open_ || !may_send() || bytes > edge_.slots.bytes) {
    throw error(ErrorCode::internal, "commit() without acquire()", {});
  }
  const FrameHeader header{fingerprint, static_cast<std::uint32_t>(bytes),
                           static_cast<std::uint32_t>(number_)};
  std::memcpy(slot(number_) + Slots::header_offset, &header, sizeof(header));
  try {
    Endpoint& endpoint = endpoint_of(number_);
    endpoint.send(piece(endpoint, number_, bytes));
  } catch (const Error& failure) {
    fail(failure);
    throw;
  }
  ++number_;
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
