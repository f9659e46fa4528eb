// Board, the control block: what ranks that run direct plans tell each other, in memory that all of
// them map.
//
//   per rank   | post, calls Nk | post, calls Nk+1 | ... | step |       each alone on its lines
//              | note, calls Nk | note, calls Nk+1 | ... |
//              | stage in, even | stage in, odd | stage out, even | stage out, odd |
//
// post: a flag line; note: a mailbox; stage: a staging buffer. Every word has one writer, its rank.
// Direct calls are numbered 1, 2, ... alike on all ranks. A post says "I am in call n, here is my
// data". The data is
//
// - in the flag's line where it fits there,
// - else in the note where it is short, else in the stage,
// - or where the caller's buffers lie.
//
// Places are used in turn, so no call ends with a barrier. The writer of post n waits only for the
// readers of post n - N, and for the readers of its stage two calls back. N is places_for(). So a
// rank that only sends, such as a broadcast's root, runs up to N - 1 short calls ahead of those
// that receive. If they share a core, the core changes between them only once in N calls.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/execute/contest.h"
#include "core/plan/direct.h"
#include "core/transport/direct_access.h"

namespace rondo::detail {

/// Where the caller's buffers lie.
struct Announcement {
  Exposed input{};
  Exposed output{};
  std::uint64_t windows_freed = 0;  ///< see DirectAccess::windows_freed()
  std::uint64_t in_windows = 0;     ///< 1: whatever peers touch lies in windows
};

struct alignas(128) Post {
  /// Number of the call. The owner's release store publishes the rest of the post, the stage and
  /// the caller's input to the readers' acquire loads.
  std::atomic<std::uint64_t> call{0};
  /// tag_of() this call: where it is as expected, no reader looks at the second cache line.
  std::uint64_t tag = 0;
  union {
    std::array<std::byte, 48> payload;
    Announcement announcement;
  };
  std::uint64_t fingerprint = 0;
  Contest::Times times{};  ///< where the ranks compare them
  Post() : payload{} {}
};
static_assert(sizeof(Announcement) == 48 && sizeof(Post) == 128);
static_assert(offsetof(Post, fingerprint) == 64, "one hop brings number, tag and payload");

/// Equal if the calls are equal, and all collectives of the ranks before them. So a disagreement
/// that no rank read at the time shows in the next call.
constexpr std::uint64_t tag_of(std::uint64_t fingerprint, std::uint64_t history) {
  return fingerprint ^ (history << 1 | history >> 63);
}

struct alignas(128) StepWord {
  /// call * steps_per_call + steps done. The owner's release store publishes what it wrote to
  /// outputs and stages, and says that it has read what it wanted; the waiting ranks' acquire loads
  /// pair with it.
  std::atomic<std::uint64_t> step{0};
};
inline constexpr std::uint64_t steps_per_call = 4;
inline constexpr std::uint64_t round_0_done = 1;
inline constexpr std::uint64_t all_done = 2;
/// The rank has failed. It will touch no other rank's memory any more, and no rank may touch its
/// own.
inline constexpr std::uint64_t gone = ~std::uint64_t{0};

/// Number of posts, and of notes, of a rank. Where ranks wait for each other's cores, running ahead
/// saves context switches; elsewhere few places stay in the nearest cache. A power of two each.
inline constexpr std::uint64_t most_places = 64;
constexpr std::uint64_t places_for(bool crowded) { return crowded ? most_places : 8; }

struct RankBoard {
  std::array<Post, most_places> posts{};
  StepWord progress{};
};
static_assert(sizeof(RankBoard) == (most_places + 1) * 128);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

inline constexpr std::size_t inline_payload = sizeof(Announcement);
inline constexpr std::size_t note_bytes =
    2048;  ///< 16 KiB per rank, 128 KiB if oversubscribed: little beside its stages
/// Typed access to the memory of a control block. Zero bytes are one that no rank has used. Does
/// not own it.
class Board {
 public:
  Board() = default;
  /// `places`: alike on all ranks.
  Board(std::byte* memory, int ranks, std::uint64_t places)
      : memory_(memory), ranks_(ranks), places_(places) {}

  static std::size_t bytes(int ranks, std::uint64_t places) {
    return stages_offset(ranks, places) + static_cast<std::size_t>(ranks) * 4 * stage_stride(ranks);
  }
  explicit operator bool() const { return memory_ != nullptr; }

  RankBoard& of(int rank) const {
    return reinterpret_cast<RankBoard*>(memory_)[static_cast<std::size_t>(rank)];
  }
  Post& post(int rank, std::uint64_t call) const { return of(rank).posts[place(call)]; }
  /// Where a rank shows `bytes` of input.
  std::byte* shown(int rank, std::uint64_t call, std::size_t bytes) const {
    if (bytes <= inline_payload) return post(rank, call).payload.data();
    return bytes <= note_bytes ? note(rank, call) : stage(rank, call & 1);
  }
  std::byte* stage_out(int rank, std::uint64_t call) const { return stage(rank, 2 + (call & 1)); }

 private:
  std::uint64_t place(std::uint64_t call) const { return call & (places_ - 1); }
  static std::size_t pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }
  static std::size_t notes_offset(int ranks) {
    return pages(static_cast<std::size_t>(ranks) * sizeof(RankBoard));
  }
  static std::size_t stages_offset(int ranks, std::uint64_t places) {
    return notes_offset(ranks) + static_cast<std::size_t>(ranks) * places * note_bytes;
  }
  // A few lines beyond the power of two: stages do not fall on the same cache sets.
  static std::size_t stage_stride(int ranks) { return stage_bytes(ranks) + 640; }
  std::byte* note(int rank, std::uint64_t call) const {
    return memory_ + notes_offset(ranks_) +
           (static_cast<std::size_t>(rank) * places_ + place(call)) * note_bytes;
  }
  std::byte* stage(int rank, std::size_t which) const {
    return memory_ + stages_offset(ranks_, places_) +
           (static_cast<std::size_t>(rank) * 4 + which) * stage_stride(ranks_);
  }

  std::byte* memory_ = nullptr;
  int ranks_ = 0;
  std::uint64_t places_ = 1;
};

}  // namespace rondo::detail
