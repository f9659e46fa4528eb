// The co-residency check: may the ranks of a communicator run kernels that wait for each other?
// Only if each of them is sure to run while the others wait.
//
//   a device each             Yes: they run beside each other.
//   one device, several       Contexts of several processes take turns on a device, and each wait
//   processes                 may cost whole time slices. Under MPS they share one: yes.
//   one device, one process   Never: the driver may put two of a context's streams into one queue.
//                             There a kernel that waits keeps its peer's from beginning.
//
// There must also be room. The blocks of all communicators whose kernels may wait at a time take at
// most three quarters of what the device runs at once. Otherwise two communicators could each wait for
// room that the other holds, on different ranks. The rest is for kernels that end by themselves: rondo's
// that only combine, and the program's own.
//
// What is counted: the communicators of this process, times the ranks of this communicator that
// share its device. Other processes are not asked: neither other jobs under the same MPS nor other
// groups of this job. Their waiting kernels may fill the device together. Then calls wait until
// RONDO_TIMEOUT fails them. Other jobs without MPS take turns, so they end, but slowly.
// RONDO_DEVICE_EXECUTOR=finite is right for both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::resident {

/// What a rank tells the others.
struct Candidate {
  std::uint64_t process = 0;  ///< HostInfo's
  std::string device{};       ///< its UUID in hexadecimal digits
  bool shares = false;        ///< contexts on the device are shared by MPS
  unsigned blocks = 0;        ///< that the device runs at once
  unsigned taken = 0;         ///< of them by other communicators of this process
  std::string obstacle{};     ///< why this rank cannot at all; empty: it can

  static void fields(auto& self, auto& archive) {
    archive(self.process, self.device, self.shares, self.blocks, self.taken, self.obstacle);
  }
};

/// The most of a device's blocks that kernels that wait may take.
constexpr unsigned most_that_wait(unsigned blocks) { return blocks * 3 / 4; }

/// `candidates`: by rank. `blocks`: of each rank's kernel. Why they may not, the same on every rank;
/// empty: they may.
std::string obstacle_of(const std::vector<Candidate>& candidates, unsigned blocks);

}  // namespace rondo::resident
