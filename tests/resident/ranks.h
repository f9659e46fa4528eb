// Ranks as threads with a device each, whose calls are co-resident kernels, or finite.
#pragma once

#include <string>
#include <vector>

#include "tests/nccl/between_devices.h"
#include "tests/nccl/calls.h"
#include "tests/nccl/together.h"
#include "tests/support/setting.h"

namespace rondo::test {

/// Communicators of ranks with a device each. `executor`: RONDO_DEVICE_EXECUTOR.
inline std::vector<ncclComm_t> init_on_own(int ranks, const std::string& executor = "auto") {
  const Setting setting("RONDO_DEVICE_EXECUTOR", executor);
  return init_each_on(own_devices(ranks));
}

/// Runs body(rank, comm) on a thread for each rank, with its device current.
template <class Body>
void run_on_own(const std::vector<ncclComm_t>& comms, Body&& body) {
  run_members(comms, [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(rank));
    body(rank, comm);
  });
}

/// Counts kernels that wait, from when it is made. A build without kernels has none.
class ResidentLaunches {
 public:
  int number() const { return fake_resident_launches() - before_; }
  bool are(int wanted) const { return number() == (RONDO_WITH_KERNELS != 0 ? wanted : 0); }

 private:
  int before_ = fake_resident_launches();
};

}  // namespace rondo::test
