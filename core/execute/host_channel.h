// HostChannel: the channel of a rank whose slots all ranks of its host read (control_block.h), and
// its view of the others'.
//
//   begin()      the next call
//   is_free()    its slot, and the staging buffer where that is wanted, have no reader any more
//   publish()    the slot holds this call
//   in_call()    a peer's slot holds this call, too
//   step()       this rank has done so much of the call
//   reached()    a peer has
//
// Polling never blocks. Not thread-safe: the caller holds the communicator's progress lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/control/control.h"
#include "core/execute/control_block.h"
#include "core/transport/direct_access.h"

namespace rondo::detail {

class HostChannel {
 public:
  using Ranks = std::vector<std::int32_t>;

  /// What identifies a call on all ranks.
  struct Identity {
    std::uint64_t sequence = 0;
    std::uint64_t fingerprint = 0;
    std::uint64_t history = 0;
  };

  /// `access` and `control` outlive it. `oversubscribed`: more ranks than cores on this host.
  HostChannel(int rank, int ranks, DirectAccess& access, ControlChannel& control,
              bool oversubscribed);

  const Ranks& others() const { return others_; }
  std::uint64_t others_bits() const { return others_bits_; }
  const ControlBlock& block() const { return block_; }
  std::uint64_t call() const { return call_; }

  void begin() { ++call_; }
  /// The control block is there.
  bool is_open();
  /// Takes this call's slot for `readers`, a bit for each rank, if the readers of its last use are
  /// done. `stages`: the staging buffer likewise.
  bool is_free(std::uint64_t readers, bool stages);
  /// Of this call and this rank. The caller fills in payload or announcement.
  SharedSlot& slot() { return block_.slot(rank_, call_); }
  /// `announces`: peers may touch this rank's buffers from here on, see withdraw().
  void publish(const Identity& identity, bool announces, const Ranks& readers);
  /// The peer's slot once it is in this call, else null. A disagreement is reported.
  const SharedSlot* in_call(std::int32_t peer, const Identity& identity);
  /// All others have ended every call before this one.
  void all_are_here() { over_ = call_ - 1; }
  /// Makes the next call's slot quick to write to. `bytes`: of its payload.
  void claim_next(std::size_t bytes);

  void step(std::uint64_t done, const Ranks& waiting) {
    block_.of(rank_).progress.step.store(step_of(call_, done), std::memory_order_release);
    for (const std::int32_t peer : waiting) access_.wake(peer);
  }
  bool reached(std::int32_t peer, std::uint64_t done) { return has_done(peer, call_, done); }
  bool passed(const Ranks& ranks, std::uint64_t done) {
    for (const std::int32_t peer : ranks) {
      if (!reached(peer, done)) return false;
    }
    return true;
  }
  /// The peer has failed, and its memory is out of bounds.
  bool is_gone(std::int32_t peer) const {
    return block_.of(peer).progress.step.load(std::memory_order_seq_cst) == gone;
  }
  /// After a failure: tells the peers that this rank's memory is out of bounds. Where it has been
  /// announced, waits, for some seconds at most, until none of them is still at work on it.
  /// `look`: lets the transports notice which ranks died.
  void withdraw(bool announced, const std::function<void()>& look) noexcept;

 private:
  /// The last use of a slot or staging buffer, and its readers.
  struct Taken {
    std::uint64_t call = 0;
    std::uint64_t readers = 0;
  };
  bool is_over(const Taken& taken);
  bool has_done(std::int32_t peer, std::uint64_t call, std::uint64_t done);
  bool is_there(std::int32_t peer, const std::function<void()>& look) noexcept;

  int rank_;
  DirectAccess& access_;
  ControlChannel& control_;
  ControlBlock block_{};
  Ranks others_{};
  std::uint64_t others_bits_ = 0;      ///< the same, a bit each
  std::uint64_t slots_;                ///< and mailboxes, in turn
  std::uint64_t call_ = 0;             ///< the one under way, or the last one
  std::uint64_t over_ = 0;             ///< all others have ended this call, and those before it
  std::uint64_t reported_ = 0;         ///< sequence whose disagreement has been reported
  std::vector<std::uint64_t> seen_{};  ///< by rank: its newest step seen
  std::array<Taken, most_slots> taken_slots_{};  ///< with their mailboxes
  std::array<Taken, 2> taken_stages_{};
};

}  // namespace rondo::detail
