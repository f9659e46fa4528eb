// Paths: the least that each kind of all-reduce must move and wait for. All of it is arithmetic.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace rondo::bench {

/// A way to add up a vector of N bytes over P ranks.
struct Path {
  std::string_view name;
  std::string_view touched_by;   ///< touched(), as a formula in P
  std::string_view messages_of;  ///< messages(), likewise
  bool network;  ///< touched counts bytes sent (and as many received), not memory traffic

  /// Bytes read and written by one rank, for each byte of the vector.
  double touched(int ranks) const;
  /// Messages of which each follows from the one before. A call without bytes waits for these.
  int messages(int ranks) const;
};

std::span<const Path> paths();

/// What a machine can do, as measured.
struct Floor {
  double memory_rate = 0;       ///< bytes read and written a second, all cores together
  double exchange_seconds = 0;  ///< a flag in each direction, at the same time
  double network_rate = 0;      ///< bytes sent a second by all ranks together; as many are received
  double network_seconds = 0;   ///< two small messages that cross
};

/// Seconds that nothing on this path can beat: its bytes at the full rate, plus its messages. The
/// messages assume that each rank has a core.
double floor_seconds(const Path& path, const Floor& floor, std::size_t bytes, int ranks);

}  // namespace rondo::bench
