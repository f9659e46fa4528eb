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
#include "tests/device/simulated.h"

namespace rondo::device::test {

/// Seconds, and bytes a second. An H100 with NVLink, as far as it is public: 3.35 TB/s of memory, of
/// which copies reach 90 %; links of 450 GB/s each way, of which headers take about a fifth; a
/// processor that takes 64 bytes from the cache in each cycle of 1.7 GHz.
struct Machine {
  double memory_bandwidth = 3.0e12;
  double link_bandwidth = 370e9;  ///< out of a GPU, and into one: payload
  double team_bandwidth = 109e9;  ///< of one block's loads, and of its stores
  double memory_latency = 0.7e-6;
  double word_latency = 0.3e-6;  ///< of a flag, which lies in the cache
  double link_latency = 0.8e-6;  ///< one way
  double barrier = 0.05e-6;
  double look = 0.05e-6;           ///< between two at a word
  unsigned loads_at_once = 4;      ///< of a thread, which registers hold
  unsigned threads_of_team = 256;  ///< on the device
};

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
