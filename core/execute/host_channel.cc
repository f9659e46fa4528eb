#include "core/execute/host_channel.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>
#include <utility>

#include "core/base/awake.h"
#include "core/execute/cache_line.h"

namespace rondo::detail {
namespace {

/// A stopped peer may hold this rank's memory for ever; then the failure matters more.
constexpr std::chrono::seconds longest_withdrawal{5};

}  // namespace

HostChannel::HostChannel(int rank, int ranks, DirectAccess& access, ControlChannel& control,
                         bool oversubscribed)
    : rank_(rank),
      access_(access),
      control_(control),
      slots_(slots_for(oversubscribed)),
      seen_(static_cast<std::size_t>(ranks)) {
  for (std::int32_t peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    others_.push_back(peer);
    // Larger worlds have no calls in shared memory (core/plan/shared_rules.h).
    if (peer < most_sharing_ranks) others_bits_ |= std::uint64_t{1} << peer;
  }
}

bool HostChannel::is_open() {
  if (block_) return true;
  const int ranks = static_cast<int>(others_.size()) + 1;
  std::byte* const memory = access_.board(ControlBlock::bytes(ranks, slots_));
  if (memory != nullptr) block_ = ControlBlock(memory, ranks, slots_);
  return memory != nullptr;
}

bool HostChannel::is_free(std::uint64_t readers, bool stages) {
  Taken& slot = taken_slots_[call_ & (slots_ - 1)];
  Taken& stage = taken_stages_[call_ & 1];
  if (!is_over(slot) || (stages && !is_over(stage))) return false;
  slot = {call_, readers};
  if (stages) stage = slot;
  return true;
}

bool HostChannel::is_over(const Taken& taken) {
  if (taken.call <= over_) return true;
  for (std::uint64_t left = taken.readers; left != 0; left &= left - 1) {
    if (!has_done(std::countr_zero(left), taken.call, all_done)) return false;
  }
  return true;
}

bool HostChannel::has_done(std::int32_t peer, std::uint64_t call, std::uint64_t done) {
  const std::uint64_t step = step_of(call, done);
  std::uint64_t& seen = seen_[static_cast<std::size_t>(peer)];
  if (seen >= step) return true;
  const std::uint64_t now = block_.of(peer).progress.step.load(std::memory_order_acquire);
  if (now == gone) return false;  // the failure itself comes by the control line
  seen = now;
  return seen >= step;
}

void HostChannel::publish(const Identity& identity, bool announces, const Ranks& readers) {
  SharedSlot& slot = this->slot();
  slot.tag = tag_of(identity.fingerprint, identity.history);
  slot.fingerprint = identity.fingerprint;
  // seq_cst where memory is announced: see withdraw().
  slot.call.store(call_, announces ? std::memory_order_seq_cst : std::memory_order_release);
  for (const std::int32_t peer : readers) access_.wake(peer);
}

const SharedSlot* HostChannel::in_call(std::int32_t peer, const Identity& identity) {
  const SharedSlot& slot = block_.slot(peer, call_);
  if (slot.call.load(std::memory_order_acquire) < call_) return nullptr;
  if (slot.tag != tag_of(identity.fingerprint, identity.history)) {
    if (std::exchange(reported_, identity.sequence) != identity.sequence)
      control_.report_mismatch(peer, identity.sequence, slot.fingerprint == identity.fingerprint);
    return nullptr;
  }
  // A rank that is in this call has finished the one before.
  std::uint64_t& seen = seen_[static_cast<std::size_t>(peer)];
  seen = std::max(seen, step_of(call_ - 1, all_done));
  return &slot;
}

/// A slot that peers have read costs a hop to write to again, because their copies must go first.
/// This drops the copies while this rank waits for its peers, unless one may still have to read it.
void HostChannel::claim_next(std::size_t bytes) {
  const std::uint64_t next = call_ + 1;
  if (taken_slots_[next & (slots_ - 1)].call > over_) return;
  const SharedSlot& slot = block_.slot(rank_, next);
  claim_line(&slot);
  claim_line(&slot.fingerprint);  // peers' prefetchers have read that, too
  if (bytes <= inline_payload || bytes > mailbox_bytes) return;
  const std::byte* const mailbox = block_.shown(rank_, next, bytes, false);
  for (std::size_t offset = 0; offset < bytes; offset += 64) claim_line(mailbox + offset);
}

// Either a peer that has just published sees that this rank is gone (is_gone()), or this rank sees
// its slot and waits for it: each stores and then loads, all four seq_cst.
void HostChannel::withdraw(bool announced, const std::function<void()>& look) noexcept {
  if (!block_) return;
  block_.of(rank_).progress.step.store(gone, std::memory_order_seq_cst);
  if (!announced) return;
  AwakeClock clock;  // a process that stood still has waited for no one
  const auto deadline = clock.now() + longest_withdrawal;
  const auto at_work = [&](std::int32_t peer) {
    return block_.slot(peer, call_).call.load(std::memory_order_seq_cst) >= call_ &&
           block_.of(peer).progress.step.load(std::memory_order_acquire) < step_of(call_, all_done);
  };
  for (const std::int32_t peer : others_) {
    while (at_work(peer) && clock.now() < deadline && is_there(peer, look))
      std::this_thread::yield();
  }
}

bool HostChannel::is_there(std::int32_t peer, const std::function<void()>& look) noexcept {
  try {
    look();
    access_.check(peer);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace rondo::detail
