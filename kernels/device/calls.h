// The calls that a communicator launches, as kernels' arguments by value: a captured graph keeps
// them, and nothing of a call must be copied to the device first or kept there.
//
// One launch is one rank's part. Its blocks wait for the same blocks of the other ranks' launches,
// never for each other, so blocks may start one by one; but those of all ranks must get to run
// beside each other: see core/resident/tenancy.h.
#pragma once

#include "kernels/device/interpret.h"
#include "kernels/device/pieces.h"
#include "kernels/device/small.h"

namespace rondo::device {

/// Of a block; two of them must fit a processor of the device (half of its registers each), so that
/// one that waits leaves room for others' blocks.
inline constexpr unsigned resident_threads = 256;
inline constexpr unsigned resident_blocks_each = 2;

/// By name, in the image that the driver loads. Its argument is a SmallCall; a block a stripe.
inline constexpr const char* small_kernel = "rondo_small_all_reduce";
/// Its argument is a ProgramCall; a block a stripe of the one lane.
inline constexpr const char* program_kernel = "rondo_program";

/// An image (image.h) of one lane and without scratch, and what it runs on: as in RankContext.
struct ProgramCall {
  static constexpr std::size_t most_image_bytes = launch_bytes - 4 * sizeof(std::uint64_t);

  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* const* arenas = nullptr;
  Control* control = nullptr;
  alignas(16) std::byte image[most_image_bytes];

  RONDO_DEVICE RankContext context() const {
    RankContext made;
    made.image = image;
    made.input = input;
    made.output = output;
    made.arenas = arenas;
    made.control = control;
    return made;
  }
};
static_assert(sizeof(ProgramCall) == launch_bytes);

}  // namespace rondo::device
