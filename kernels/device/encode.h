// Encoding: makes a device program (program.h) of a lowered or merged program.
#pragma once

#include <cstddef>
#include <vector>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"
#include "kernels/device/program.h"

namespace rondo::device {

/// What all ranks must know of each other's programs to cut messages alike.
struct Traits {
  int longest_message = 1;  ///< chunks in a message, at most
  int scratch_slots = 0;    ///< at most
  int depth = 1;            ///< messages a channel must hold, at most
  bool adds_all = true;     ///< whatever op combines contributions combines those of all ranks
  int stages = 0;           ///< of merged programs, which move whole chunks
};

/// `programs`: lowered or merged from `schedule`, by rank. `longest_message`: see core/plan/lower.h.
Traits traits_of(const Schedule& schedule, const std::vector<Program>& programs,
                 int longest_message);

/// The device program of a rank, aligned as any new memory. Throws Error{invalid_argument} where
/// an op has more than most_operands operands or takes two messages of a peer.
std::vector<std::byte> encode(const Schedule& schedule, const Program& program, int rank);

}  // namespace rondo::device
