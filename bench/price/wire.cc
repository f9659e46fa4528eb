#include "bench/price/wire.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/control/call.h"

namespace rondo::bench {
namespace {

constexpr std::chrono::seconds longest_silence{30};

/// Every member's address, by rank. Collective.
std::vector<std::string> gather_addresses(Member& member, SharedMemory& meeting,
                                          const std::string& mine) {
  if (mine.size() >= Wire::address_bytes) {
    throw std::runtime_error("a transport's address is too long");
  }
  auto* const texts = reinterpret_cast<char*>(meeting.data());
  const auto place = [&](int rank) {
    return texts + static_cast<std::size_t>(rank) * Wire::address_bytes;
  };
  std::memcpy(place(member.rank()), mine.c_str(), mine.size() + 1);
  member.meet();
  std::vector<std::string> all;
  for (int rank = 0; rank < member.size(); ++rank) all.emplace_back(place(rank));
  member.meet();  // before the next wire's addresses are written
  return all;
}

}  // namespace

Wire::Wire(Member& member, SharedMemory& meeting, const TransportKind& kind, std::uint64_t number)
    : rank_(member.rank()),
      ranks_(member.size()),
      transport_(kind.make(
          {.rank = rank_, .ranks = ranks_, .communicator = number, .doorbell = &doorbell_})),
      backoff_(ranks_ > allowed_cores()) {
  transport_->meet(gather_addresses(member, meeting, transport_->address()));
  for (int peer = 0; peer < ranks_; ++peer) {
    out_.push_back(peer == rank_ ? nullptr : &transport_->sender(peer, 0));
    in_.push_back(peer == rank_ ? nullptr : &transport_->receiver(peer, 0));
  }
}

void Wire::begin_call(std::size_t count) {
  fingerprint_ = fingerprint(Call{.sequence = ++sequence_,
                                  .count = count,
                                  .collective = Collective::all_reduce,
                                  .type = DataType::float32,
                                  .op = ReduceOperator::sum});
  backoff_.reset();
}

void Wire::check(std::uint64_t fingerprint, int peer) const {
  if (fingerprint == fingerprint_) return;
  throw std::runtime_error("a frame of another call came from rank " + std::to_string(peer));
}

const Frame* Wire::peek(int peer, std::size_t bytes) {
  const Frame* frame = in(peer).peek();
  if (frame == nullptr) return nullptr;
  check(frame->tag.fingerprint, peer);
  if (frame->payload.size() != bytes) throw std::runtime_error("a frame of another size came");
  return frame;
}

bool Wire::send_from(int peer, std::span<const std::byte> bytes, std::size_t& moved) {
  const std::size_t now = out(peer).send_from(bytes.subspan(moved), {fingerprint_});
  partly_ |= now > 0;
  moved += now;
  if (moved < bytes.size()) return false;
  moved = 0;
  return true;
}

bool Wire::receive_into(int peer, std::span<std::byte> bytes, std::size_t& moved) {
  if (moved == 0) {
    const auto head = in(peer).frame_head();
    if (!head) return false;
    check(head->tag.fingerprint, peer);
  }
  const std::size_t now = in(peer).receive_into(bytes.subspan(moved));
  partly_ |= now > 0;
  moved += now;
  if (moved < bytes.size()) return false;
  moved = 0;
  return true;
}

void Wire::wait() {
  if (std::exchange(partly_, false)) return backoff_.reset();
  if (backoff_.look_around() && transport_->progress()) return;
  if (!backoff_.pause()) {
    silent_since_.reset();
    return;
  }
  transport_->progress();
  ::sched_yield();
  const auto now = std::chrono::steady_clock::now();
  if (!silent_since_) silent_since_ = now;
  if (now - *silent_since_ > longest_silence) {
    throw std::runtime_error("rank " + std::to_string(rank_) + " waited 30 s for a frame");
  }
}

void Wire::drain() {
  const auto flushed = [](const SendChannel* channel) {
    return channel == nullptr || channel->flushed();
  };
  while (!std::all_of(out_.begin(), out_.end(), flushed)) after_look(transport_->progress());
}

}  // namespace rondo::bench
