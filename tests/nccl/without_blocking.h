// Non-blocking communicators, with a device current.
#pragma once

#include "tests/nccl/device.h"

namespace rondo::test {

/// As init_on_device(), but with blocking = 0. Returns when all are made.
inline std::vector<ncclComm_t> init_without_blocking(int ranks) {
  cuCtxSetCurrent(device_context(0));
  ncclUniqueId id{};
  expect(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    ncclComm_t& comm = comms[static_cast<std::size_t>(rank)];
    expect(ncclCommInitRankConfig(&comm, ranks, id, rank, &config), ncclInProgress);
  }
  for (const ncclComm_t comm : comms) expect(settled(comm));
  return comms;
}

}  // namespace rondo::test
