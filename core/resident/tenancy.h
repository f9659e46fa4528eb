// Whether the ranks of a communicator may run kernels that wait for each other: only where each of
// them is sure to run while the others wait.
//
//   a device each             They run beside each other.
//   one device, several       Contexts of several processes take turns on a device, and each wait
//   processes                 may cost whole time slices; under MPS they share one.
//   one device, one process   Never: the driver may put two of a context's streams into one queue,
//                             where a kernel that waits keeps its peer's from beginning.
//
// And there must be room: the blocks of all communicators whose kernels may wait at a time take at
// most half of what the device runs at once. Else a call of one communicator could wait for room
// that another one's holds, and that one, on another rank, for the first. The other half is for
// kernels that only combine, and end by themselves; kernels of the program's own end, too.
//
// What is counted: the communicators of this process, times the ranks of this communicator that
// share its device. Other processes are not asked, be they other jobs under the same MPS or other
// groups of this job: their kernels that wait may fill the device between them, and then calls wait
// until RONDO_TIMEOUT fails them. Several processes without MPS (other jobs, as those of one
// communicator are finite) end, but in turns. RONDO_DEVICE_EXECUTOR=finite is right for both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::resident {

/// What a rank tells the others.
struct Tenant {
  std::uint64_t process = 0;  ///< HostInfo's
  std::string device{};       ///< its UUID in hexadecimal digits
  bool shares = false;        ///< contexts on the device are shared by MPS
  unsigned blocks = 0;        ///< that the device runs at once
  unsigned taken = 0;         ///< of them by communicators of this process alone, with this one
  std::string obstacle{};     ///< why this rank cannot at all; empty: it can

  Tenant() = default;
  /// Of what str() said.
  explicit Tenant(const std::string& said);
  std::string str() const;
};

/// By rank: why they may not, the same on every rank; empty: they may.
std::string obstacle_of(const std::vector<Tenant>& tenants);

}  // namespace rondo::resident
