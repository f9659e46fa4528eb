// with_device_members() for ranks as threads. hosts.cc has it for ranks as processes.
#include "tests/nccl/device.h"

namespace rondo::test {

void with_device_members(int ranks, const std::function<void(int rank, ncclComm_t comm)>& body) {
  REQUIRE_NOTHROW(run_on_device(init_through_host(ranks), body));
}

}  // namespace rondo::test
