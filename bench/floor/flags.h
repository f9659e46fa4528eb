// Flags: the smallest message between two processes, a cache line with a number.
//
// In an exchange each side stores into its own line and waits for the other's line. Two flags travel
// at the same time, one in each direction. So each exchange takes one hop: the time from a store until
// the waiting core sees it.
//
// Any call whose result depends on all inputs needs at least one hop, and its own work. The length
// of a hop depends on where the two cores are. The work does not.
#pragma once

#include <atomic>
#include <cstdint>

#include "bench/floor/team.h"

namespace rondo::bench {

/// One member's flags. Memory is shared, zeroed and holds bytes_for(members).
class Flags {
 public:
  Flags(const Member& member, SharedMemory& memory);
  static std::size_t bytes_for(int members);

  /// Tells every other member and waits until each has told its own.
  /// A member is never more than one exchange ahead, so two lines a member are enough.
  void meet();

 private:
  /// It is alone on its two cache lines, since prefetchers fetch pairs of 64 bytes.
  struct alignas(128) Line {
    std::atomic<std::uint64_t> number{0};
  };
  Line& line(int member) const { return lines_[member * 2 + static_cast<int>(number_ & 1)]; }

  int rank_;
  int size_;
  Line* lines_;
  std::uint64_t number_ = 0;
};

}  // namespace rondo::bench
