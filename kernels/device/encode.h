// Encoding: makes a device program (program.h) of a lowered program, and the sizes of a call.
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
};

/// `programs`: lowered from `schedule`, by rank. `longest_message`: see core/plan/lower.h.
Traits traits_of(const Schedule& schedule, const std::vector<Program>& programs,
                 int longest_message);

/// The device program of a rank, aligned as any new memory. Throws Error{invalid_argument} where
/// an op has more than most_operands operands or takes two messages of a peer.
std::vector<std::byte> encode(const Schedule& schedule, const Program& program, int rank);

struct SizeRequest {
  const Schedule& schedule;  ///< its header; the steps are not read
  Traits traits{};
  int rank = 0;
  std::size_t count = 0;  ///< elements of a block
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;
  Protocol protocol = Protocol::bulk;
  ArenaShape arena{};
  std::size_t most_scratch = std::size_t{1} << 40;  ///< bytes that a rank has for scratch
};

/// Ranks that make equal requests but for `rank` cut their messages alike. Averages of integers are
/// sums unless the programs add all contributions at once. Throws Error{configuration} where the
/// arena or the scratch memory is too small, or where the arena's shape is not valid.
Sizes sizes_of(const SizeRequest& request);

/// Scratch memory that a rank needs, for all stripes together.
std::size_t scratch_bytes(const Sizes& sizes, int scratch_slots, int chunks);

/// Checks the shape alone. Throws as sizes_of() does.
void check(const ArenaShape& shape);

}  // namespace rondo::device
