// How long teams of the device executor take on GPUs with links between them: a model, which runs
// the kernels' own code. It shows what a schedule makes of links and memory, not what a GPU does.
//
// Every thread has a clock. Those of the memories and links are shared: each serves one access after the
// other, in the order of the threads' clocks. What they cost:
//
//   load        the memory's bandwidth; its value comes after the memory's latency. Loads that
//               follow each other wait together, as many as registers hold, until the thread writes or
//               meets its team
//   store       the bandwidth of the memory, or of two links: out of this GPU and into the other
//   release     until all that the team wrote over links has arrived, and word of it is back
//   word        a flag of another GPU is seen a link's latency after its store
//   barrier     the latest thread's clock, and a little more
//
// A team has fewer threads here than on a device, and each stands for as many: its latencies are shorter
// by that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tests/device/host_team.h"
#include "tests/device/machine.h"
#include "tests/device/simulated.h"

namespace rondo::device::test {

/// Bytes that lie in the memory of one rank's GPU.
struct OwnedBytes {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::uint32_t rank = 0;
};

/// The seconds that `work(team, number)` takes for teams 0 to teams_of_rank * ranks - 1, of `threads`
/// threads each. Team n is rank n / teams_of_rank's, and so is memory that nobody owns. All begin at once.
/// Throws std::runtime_error where teams wait for each other for ever.
double run_timed(const Machine& machine, std::span<const OwnedBytes> memory, std::uint32_t ranks,
                 std::uint32_t teams_of_rank, std::uint32_t threads,
                 const std::function<void(HostTeam&, std::uint32_t)>& work);

}  // namespace rondo::device::test
