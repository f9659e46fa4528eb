// A path between ranks and their coordinator that goes bad again and again.
#pragma once

#include <cstddef>

#include "tests/control/processes.h"

namespace rondo {

enum class PathFault {
  cut,    ///< in the middle of what is said; both ends notice
  reset,  ///< only the ranks' end notices
  flip,   ///< a bit changes
};

/// A process that listens at `port` and carries all to `target` and back. Somewhere in the next 2,500
/// bytes of a connection the fault happens, until it has happened often enough.
class BadPath {
 public:
  /// The first `ranks` connections are good for long enough to meet.
  BadPath(int port, int target, PathFault fault, int ranks, std::size_t most_faults);
  /// How often the fault has happened.
  std::size_t faults() const;

 private:
  test::Pipe happened_{};
  Child carrier_;
};

}  // namespace rondo
