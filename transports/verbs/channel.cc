#include "transports/verbs/channel.h"

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

bool ChannelEnd::read_letters() {
  if (!letters_) return false;
  bool moved = false;
  try {
    while (const std::optional<Letter> letter = letters_.hear()) {
      moved = true;
      if (letter->kind == LetterKind::goodbye) {
        peer_left(*letter);
        letters_ = {};
        return true;
      }
      take(*letter);
    }
    if (!letters_.ended()) return moved;
    fail(error(ErrorCode::peer_lost, "the peer process ended or closed its connection",
               its_own_output));
  } catch (const Error& failure) {
    fail(failure);
  }
  letters_ = {};
  return true;
}

void ChannelEnd::fail_on(const Rail& rail, const ibv_qp* pair, const Error& failure) {
  const auto hit = [&](const std::unique_ptr<Endpoint>& endpoint) {
    return &endpoint->rail() == &rail && (pair == nullptr || endpoint->is(pair));
  };
  if (std::ranges::none_of(endpoints_, hit)) return;
  ErrorDetails details = failure.details();
  details.peer = edge_.peer;
  fail(Error(failure.code(), failure.message(), details));
}

void ChannelEnd::add_endpoint(Rail& rail, Endpoint::Capacity capacity) {
  endpoints_.push_back(
      std::make_unique<Endpoint>(rail, edge_.rails.settings(), edge_.peer, capacity, edge_.credit));
}

void ChannelEnd::register_slots() {
  memory_ = RegisteredMemory(edge_.slots.count * edge_.slots.stride(), edge_.rank, edge_.peer);
  for (const auto& endpoint : endpoints_) memory_.open_to(endpoint->rail(), edge_.peer);
}

std::byte* ChannelEnd::slot(std::uint64_t frame) const {
  return memory_.data() + frame % edge_.slots.count * edge_.slots.stride();
}

Piece ChannelEnd::piece(const Endpoint& endpoint, std::uint64_t frame, std::size_t payload) const {
  return {slot(frame) + Slots::header_offset, sizeof(FrameHeader) + payload,
          memory_.key(endpoint.rail())};
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
    if (letters_) letters_.say({.kind = LetterKind::goodbye, .frames = frames});
  } catch (...) {
    return;  // no memory: the end of the connection tells the peer as well
  }
}

// ---- the sender

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
  Endpoint& endpoint = endpoint_of(number_);
  endpoint.send(piece(endpoint, number_, bytes));
  ++number_;
}

bool VerbsSendChannel::flushed() const {
  // What the peer has released has arrived, whether or not its device could still say so.
  if (credited_ == number_) return true;
  if (edge_.credit.granted == static_cast<std::uint32_t>(number_)) return true;
  const auto acknowledged = [](const auto& endpoint) { return endpoint->acknowledged(); };
  if (std::ranges::all_of(endpoints_, acknowledged)) return true;
  throw_failure();
  for (const auto& endpoint : endpoints_) endpoint->ask_acknowledgement();
  return false;
}

// ---- the receiver

VerbsReceiveChannel::~VerbsReceiveChannel() { say_goodbye(number_); }

void VerbsReceiveChannel::begin(UniqueFd socket) {
  letters_ = Correspondence(std::move(socket));
  met_ = true;
}

void VerbsReceiveChannel::take(const Letter& letter) {
  try {
    check(letter);
    answer(letter);
  } catch (const Error& why) {
    refuse(why);
    throw;
  }
}

void VerbsReceiveChannel::check(const Letter& offer) const {
  if (offer.kind != LetterKind::offer || open_ || offer.endpoints.empty()) {
    throw error(ErrorCode::internal, "the peer speaks another verbs protocol",
                "the same rondo on every rank");
  }
  if (offer.slot_bytes == edge_.slots.bytes && offer.slots == edge_.slots.count) return;
  throw error(ErrorCode::configuration,
              "the peer uses slots of " + std::to_string(offer.slot_bytes) +
                  " bytes, this rank of " + std::to_string(edge_.slots.bytes),
              "the same RONDO_SLOT_BYTES on every rank");
}

void VerbsReceiveChannel::answer(const Letter& offer) {
  const auto pairs = static_cast<std::uint32_t>(offer.endpoints.size());
  const std::uint32_t receives = (edge_.slots.count + pairs - 1) / pairs;
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    const RailName there{.gid = gid_of(offer.endpoints[pair])};
    Rail& rail =
        edge_.rails.choose(std::span(&there, 1), edge_.lane, static_cast<int>(pair), edge_.peer);
    add_endpoint(rail, {.sends = 4 * Endpoint::silent_sends, .receives = receives});
  }
  register_slots();
  post_receives();
  for (std::size_t i = 0; i < pairs; ++i) endpoints_[i]->connect(offer.endpoints[i]);
  if (!letters_.say({.kind = LetterKind::answer, .endpoints = addresses()})) throw left();
  open_ = true;
}

void VerbsReceiveChannel::refuse(const Error& why) {
  letters_.say({.kind = LetterKind::refusal, .code = why.code(), .text = why.message()});
}

void VerbsReceiveChannel::post_receives() {
  for (; posted_ < number_ + edge_.slots.count; ++posted_) {
    Endpoint& endpoint = endpoint_of(posted_);
    endpoint.receive_frame(piece(endpoint, posted_, edge_.slots.bytes));
  }
  edge_.credit.released = static_cast<std::uint32_t>(number_);
}

void VerbsReceiveChannel::peer_left(const Letter& goodbye) {
  // All that the peer was sure of has arrived; what it was not may still come.
  constexpr std::chrono::seconds grace{1};
  sent_ = goodbye.frames;
  grace_ = Clock::now() + grace;
}

bool VerbsReceiveChannel::arrived() const {
  return endpoint_of(number_).frames() > number_ / endpoints_.size();
}

const Frame* VerbsReceiveChannel::peek() {
  if (holding_) return &frame_;
  if (!open_) [[unlikely]] {
    throw_failure();
    return nullptr;
  }
  if (arrived()) return head();
  edge_.rails.poll();
  return arrived() ? head() : nothing();
}

const Frame* VerbsReceiveChannel::head() {
  FrameHeader header;
  std::memcpy(&header, slot(number_) + Slots::header_offset, sizeof(header));
  if (header.number != static_cast<std::uint32_t>(number_) || header.bytes > edge_.slots.bytes)
      [[unlikely]] {
    fail(error(ErrorCode::internal, "what arrived in a slot is not the next frame",
               "the same rondo on every rank; look for stray writes in that process"));
    throw Error(*failure_);
  }
  frame_ = {header.fingerprint, {slot(number_) + Slots::payload_offset, header.bytes}};
  holding_ = true;
  return &frame_;
}

const Frame* VerbsReceiveChannel::nothing() {
  if (sent_ && (number_ >= *sent_ || Clock::now() > grace_)) fail(left());
  throw_failure();
  give_slots_back();
  return nullptr;
}

void VerbsReceiveChannel::release() {
  if (!holding_) throw error(ErrorCode::internal, "release() without a frame", {});
  holding_ = false;
  ++number_;
  // The last one waits until there is time, or for the next one: an answer goes first.
  if (number_ + edge_.slots.count > posted_ + 1) give_slots_back();
}

void VerbsReceiveChannel::give_slots_back() {
  // Once the peer is gone only what has arrived matters.
  if (failure_ || sent_) return;
  try {
    post_receives();
    if (edge_.credit.untold() < edge_.slots.credit_step()) return;
    Endpoint& endpoint = *endpoints_[0];
    if (!endpoint.has_room()) edge_.rails.poll();
    if (endpoint.has_room()) endpoint.send_credit();  // else the next time
  } catch (const Error& failure) {
    fail(failure);
  }
}

}  // namespace rondo::verbs
