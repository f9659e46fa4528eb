// The sizes of one call, which a device program does not have (program.h): how its chunks are cut into
// stripes and slices, and where peers' windows begin.
#pragma once

#include <cstddef>
#include <span>

#include "core/schedule/schedule.h"
#include "kernels/device/encode.h"
#include "kernels/device/lane_view.h"

namespace rondo::device {

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

/// Where the windows of all ranks are, for a merged program of the call. `inputs` and `outputs`: their
/// buffers, by rank; empty where no place is in them.
WindowAddresses windows_of(const SizeRequest& request, std::span<std::byte* const> inputs,
                           std::span<std::byte* const> outputs);

}  // namespace rondo::device
