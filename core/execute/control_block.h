// ControlBlock: memory that all ranks of a host map. In it each rank has slots that every other rank
// reads, and a word that says how far the rank is.
//
//   per rank   | slot, calls Nk | slot, calls Nk+1 | ... | step |            each alone on its lines
//              | mailbox, calls Nk | mailbox, calls Nk+1 | ... |
//              | staging in, even | staging in, odd | staging out, even | staging out, odd |
//
// Every word has one writer, its rank. Calls are numbered 1, 2, ... alike on all ranks. A slot says
// "I am in call n, here is my data". The data is
//
// - in the slot's own line where it fits there,
// - else in the mailbox where it is short, else in the staging buffer,
// - or where the caller's buffers lie.
//
// Slots are used in turn, so no call ends with a barrier. The writer of slot n waits only for the
// readers of slot n - N, and for the readers of its staging buffer two calls back. N is slots_for().
// So a rank that only sends, such as a broadcast's root, runs up to N - 1 short calls ahead of those
// that receive. If they share a core, the core changes between them only once in N calls.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/plan/shared.h"
#include "core/transport/direct_access.h"

namespace rondo::detail {

/// Where the caller's buffers lie.
struct Announcement {
  Exposed input{};
  Exposed output{};
  std::uint64_t windows_freed = 0;  ///< see DirectAccess::windows_freed()
  std::uint64_t in_windows = 0;     ///< 1: whatever peers touch lies in windows
};

struct alignas(128) SharedSlot {
  /// Number of the call. The owner's release store publishes the rest of the slot, the staging
  /// buffer and the caller's input to the readers' acquire loads.
  std::atomic<std::uint64_t> call{0};
  /// tag_of() this call: where it is as expected, no reader looks at the second cache line.
  std::uint64_t tag = 0;
  union {
    std::array<std::byte, 48> payload;
    Announcement announcement;
  };
  std::uint64_t fingerprint = 0;
  SharedSlot() : payload{} {}
};
static_assert(sizeof(Announcement) == 48 && sizeof(SharedSlot) == 128);
static_assert(offsetof(SharedSlot, fingerprint) == 64, "one hop brings number, tag and payload");

/// Equal if the calls are equal, and all collectives of the ranks before them. So a disagreement
/// that no rank read at the time shows in the next call.
constexpr std::uint64_t tag_of(std::uint64_t fingerprint, std::uint64_t history) {
  return fingerprint ^ (history << 1 | history >> 63);
}

struct alignas(128) StepWord {
  /// step_of() what the rank has done. The owner's release store publishes what it wrote to outputs
  /// and staging buffers, and says that it has read what it wanted; the waiting ranks' acquire loads
  /// pair with it.
  std::atomic<std::uint64_t> step{0};
};
inline constexpr std::uint64_t steps_per_call = 256;
/// The last step of every call. Step n + 1 before it: the first n stages are done.
inline constexpr std::uint64_t all_done = steps_per_call - 1;
constexpr std::uint64_t step_of(std::uint64_t call, std::uint64_t step) {
  return call * steps_per_call + step;
}
/// The rank has failed. It will touch no other rank's memory any more, and no rank may touch its
/// own.
inline constexpr std::uint64_t gone = ~std::uint64_t{0};

/// Number of slots, and of mailboxes, of a rank. Where ranks wait for each other's cores, running
/// ahead saves context switches; elsewhere few slots stay in the nearest cache. A power of two each.
inline constexpr std::uint64_t most_slots = 64;
constexpr std::uint64_t slots_for(bool oversubscribed) { return oversubscribed ? most_slots : 8; }

struct RankLines {
  std::array<SharedSlot, most_slots> slots{};
  StepWord progress{};
};
static_assert(sizeof(RankLines) == (most_slots + 1) * 128);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

inline constexpr std::size_t inline_payload = sizeof(Announcement);
/// 16 KiB per rank, 128 KiB if oversubscribed: little beside its staging buffers.
inline constexpr std::size_t mailbox_bytes = 2048;

/// Typed access to the memory of a control block. Zero bytes are one that no rank has used. Does
/// not own it.
class ControlBlock {
 public:
  ControlBlock() = default;
  /// `slots`: alike on all ranks.
  ControlBlock(std::byte* memory, int ranks, std::uint64_t slots)
      : memory_(memory), ranks_(ranks), slots_(slots) {}

  static std::size_t bytes(int ranks, std::uint64_t slots) {
    return staging_offset(ranks, slots) +
           static_cast<std::size_t>(ranks) * 4 * staging_stride(ranks);
  }
  explicit operator bool() const { return memory_ != nullptr; }

  RankLines& of(int rank) const {
    return reinterpret_cast<RankLines*>(memory_)[static_cast<std::size_t>(rank)];
  }
  SharedSlot& slot(int rank, std::uint64_t call) const { return of(rank).slots[place(call)]; }
  /// Where a rank shows `bytes` of input. `announces`: its slot holds an announcement.
  std::byte* shown(int rank, std::uint64_t call, std::size_t bytes, bool announces) const {
    if (bytes <= inline_payload && !announces) return slot(rank, call).payload.data();
    return bytes <= mailbox_bytes ? mailbox(rank, call) : staged(rank, call);
  }
  /// The same of any length up to stage_bytes().
  std::byte* staged(int rank, std::uint64_t call) const { return staging(rank, call & 1); }
  /// Where it shows what it has made.
  std::byte* made(int rank, std::uint64_t call) const { return staging(rank, 2 + (call & 1)); }

 private:
  std::uint64_t place(std::uint64_t call) const { return call & (slots_ - 1); }
  static std::size_t pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }
  static std::size_t mailboxes_offset(int ranks) {
    return pages(static_cast<std::size_t>(ranks) * sizeof(RankLines));
  }
  static std::size_t staging_offset(int ranks, std::uint64_t slots) {
    return mailboxes_offset(ranks) + static_cast<std::size_t>(ranks) * slots * mailbox_bytes;
  }
  // A few lines beyond the power of two: the buffers do not fall on the same cache sets.
  static std::size_t staging_stride(int ranks) { return stage_bytes(ranks) + 640; }
  std::byte* mailbox(int rank, std::uint64_t call) const {
    return memory_ + mailboxes_offset(ranks_) +
           (static_cast<std::size_t>(rank) * slots_ + place(call)) * mailbox_bytes;
  }
  std::byte* staging(int rank, std::size_t which) const {
    return memory_ + staging_offset(ranks_, slots_) +
           (static_cast<std::size_t>(rank) * 4 + which) * staging_stride(ranks_);
  }

  std::byte* memory_ = nullptr;
  int ranks_ = 0;
  std::uint64_t slots_ = 1;
};

}  // namespace rondo::detail
