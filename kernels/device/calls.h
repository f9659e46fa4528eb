// The calls that a communicator launches, as kernel arguments by value. A captured graph keeps
// them. So nothing of a call must be copied to the device first, or kept there.
//
// One launch is one rank's part. Its blocks wait for the same blocks of the other ranks' launches,
// never for each other. So blocks may start one by one. But the blocks of all ranks must be able to
// run side by side: core/resident/co_residency.h.
#pragma once

#include "kernels/device/interpret.h"
#include "kernels/device/pieces.h"
#include "kernels/device/small.h"

namespace rondo::device {

/// Threads of a block. Two blocks must fit a processor of the device, with half of its registers
/// each, so that a block that waits leaves room for those of others.
inline constexpr unsigned resident_threads = 256;
inline constexpr unsigned resident_blocks_each = 2;

/// A kernel's name in the image that the driver loads. Its argument is a SmallCall, and each stripe
/// has a block.
inline constexpr const char* small_kernel = "rondo_small_all_reduce";
/// The same for a kernel whose argument is a ProgramCall. Each stripe of the one lane has a block.
inline constexpr const char* program_kernel = "rondo_program";

/// An image (image.h) of one lane, without scratch, and the memory it runs on as in RankContext.
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
