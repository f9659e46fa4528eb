// The programs of calls: a schedule for each collective, lowered for one rank, as device programs
// ("images").
//
// All ranks reach each other. So every schedule is the one whose messages go straight from where
// bytes are to where they are wanted, in one round (two_shot: two). Reductions add in the order of
// ranks and round once. So they have the same bits as in the finite form.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "core/control/call.h"
#include "core/schedule/program.h"
#include "core/schedule/schedule.h"
#include "kernels/device/image.h"

namespace rondo::resident {

/// Which row of the table of algorithms a collective takes.
std::string_view algorithm_of(Collective collective);

/// One rank's programs. Threads: one at a time.
class Programs {
 public:
  /// `shape`: the arenas'.
  Programs(int rank, int ranks, const device::ArenaShape& shape)
      : rank_(rank), ranks_(ranks), shape_(shape) {}

  /// Writes the image of `call`, whose form is a program, to `into`; returns how many stripes it
  /// uses. Throws Error{internal} where it does not fit, or needs scratch.
  std::uint32_t write(const Call& call, std::span<std::byte> into);

 private:
  struct Lowered {
    Schedule schedule;
    Program program;
    int longest_message;
  };
  const Lowered& lowered(Collective collective, int root);

  const int rank_;
  const int ranks_;
  const device::ArenaShape shape_;
  std::map<std::pair<Collective, int>, Lowered> lowered_{};  ///< by collective and root
};

}  // namespace rondo::resident
