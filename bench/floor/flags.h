// Flags: the least that two processes can say to each other, a cache line with a number and 8
// bytes.
//
// An exchange (share()) is one store into the own line and one wait for the other's, on both sides:
// two flags are under way at once, one each way. Nobody tells number n + 1 before it has heard
// number n, so exchanges back to back follow from each other, and each takes one hop: the time from
// a store to the core that waits for it, which is half a ping-pong, where the two flags of a round
// follow from each other. The same must happen in any call whose result depends on all inputs, so a
// call takes a hop and what it does itself. Both are measured; they should be the same within a few
// per cent. A hop depends on where the two cores are (30 to 250 ns have been seen on one machine);
// what a call does itself does not.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "bench/floor/probe.h"
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
  /// The same with nothing to say: everyone's earlier writes are visible on return.
  void meet() { share(0); }
  /// Member 0 to member 1 and back; the others return at once.
  void ping_pong();

 private:
  /// Alone on its lines: prefetchers fetch pairs of 64 bytes.
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

/// A two-way exchange between all members, and half a ping-pong between the first two.
void add_flag_probes(Flags& flags, const Member& member, std::size_t bytes,
                     std::vector<Probe>& probes);

}  // namespace rondo::bench
