// Flags: the smallest message between two processes, a cache line with a number and 8 bytes.
//
// In an exchange (share()) each side stores into its own line and waits for the other's line. Two
// flags travel at the same time, one in each direction. No side sends number n + 1 before it has
// received number n. So each exchange takes one hop: the time from a store until the waiting core
// sees it. A hop is also half a ping-pong, where the second flag follows from the first. Both are
// measured and should agree within a few per cent.
//
// Any call whose result depends on all inputs needs at least one hop, and its own work. The length
// of a hop depends on where the two cores are. The work does not.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "bench/floor/team.h"

namespace rondo::bench {

/// One member's flags. Memory is shared, zeroed and holds bytes_for(members).
class Flags {
 public:
  Flags(const Member& member, SharedMemory& memory);
  static std::size_t bytes_for(int members);

  /// Tells every other member `value` and waits until each has told its own; returns their sum.
  /// A member is never more than one exchange ahead, so two lines a member are enough.
  std::uint64_t share(std::uint64_t value);
  /// Shares nothing. On return everyone's earlier writes are visible.
  void meet() { share(0); }
  /// Sends a flag from member 0 to member 1 and one back. The others return at once.
  void ping_pong();

 private:
  /// It is alone on its two cache lines, since prefetchers fetch pairs of 64 bytes.
  struct alignas(128) Line {
    std::atomic<std::uint64_t> number{0};
    std::uint64_t value = 0;
  };
  Line& line(int member) const { return lines_[member * 2 + static_cast<int>(number_ & 1)]; }
  void tell(std::uint64_t value);
  std::uint64_t hear(int member) const;

  int rank_;
  int size_;
  Line* lines_;
  std::uint64_t number_ = 0;
};

}  // namespace rondo::bench
