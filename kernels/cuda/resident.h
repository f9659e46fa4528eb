// The resident kernel, for tests: the device interpreter (kernels/device/interpret.h) with a block
// for every team of every rank. All blocks wait for each other, so all must run at once. The
// launch is cooperative, and refused where the device cannot hold them.
#pragma once

#include <cstdint>

#include "kernels/device/calls.h"
#include "kernels/device/lane_view.h"

namespace rondo {

/// Most threads of a block, and blocks on one processor: the same as in communicators' kernels.
using device::resident_blocks_each;
using device::resident_threads;

/// What a launch runs: some ranks of a group that live on this device. The pointers name device
/// memory. It must stay as it is until the kernel has ended.
struct ResidentLaunch {
  const device::RankContext* contexts = nullptr;  ///< of these ranks
  std::uint32_t ranks = 1;
  std::uint32_t teams = 1;                   ///< of a rank, at most
  std::uint32_t threads = resident_threads;  ///< of a block; a multiple of 32

  std::uint32_t blocks() const { return ranks * teams; }
};

/// The same for the calls of kernels/device/small.h.
struct SmallLaunch {
  const device::SmallCall* calls = nullptr;
  std::uint32_t ranks = 1;
  std::uint32_t stripes = 1;
  std::uint32_t threads = resident_threads;

  std::uint32_t blocks() const { return ranks * stripes; }
};

/// Both enqueue on `stream`, a cudaStream_t, and return. Ranks on other devices or in other processes
/// are launched by their owners. Nothing that waits for all may come between these launches. Throws
/// Error{invalid_argument} where the blocks cannot run at once, Error{system} where the launch fails.
/// Thread-safe. Each rank's Control says whether waits ended early, once the stream has come so far.
void launch_resident(const ResidentLaunch& launch, void* stream);
void launch_small(const SmallLaunch& launch, void* stream);

}  // namespace rondo
