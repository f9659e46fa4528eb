// The calls that a communicator launches, as kernel arguments by value. A captured graph keeps
// them. So nothing of a call must be copied to the device first, but the program of its schedule.
//
// One launch is one rank's part. Its blocks wait for the same blocks of the other ranks' launches,
// never for each other. So blocks may start one by one. But the blocks of all ranks must be able to
// run side by side: core/resident/co_residency.h.
#pragma once

#include "kernels/device/interpret.h"
#include "kernels/device/pieces.h"
#include "kernels/device/small.h"

namespace rondo::device {

/// Threads of a block, which takes the registers of a whole processor of the device. Each thread has few
/// loads under way: with half as many threads, 32 blocks do not fill a link (by a model:
/// bench/results/gpu-model-8-h100.txt).
inline constexpr unsigned resident_threads = 512;
inline constexpr unsigned resident_blocks_each = 1;

/// A kernel's name in the image that the driver loads. Its argument is a SmallCall, and each stripe
/// has a block.
inline constexpr const char* small_kernel = "rondo_small_all_reduce";
/// The same for a kernel whose argument is a RankContext. Each stripe of each lane has a block.
inline constexpr const char* program_kernel = "rondo_program";

static_assert(sizeof(SmallCall) <= launch_bytes && sizeof(RankContext) <= launch_bytes);

}  // namespace rondo::device
