// How a process of a test joins a world.
#pragma once

#include <chrono>
#include <string>

#include "rondo/rondo.h"
#include "tests/support/setting.h"

namespace rondo::test {

/// Joins a world of processes. The transport is between all of them. A timeout of 0: the usual one.
inline Communicator join(int port, int rank, int ranks, const std::string& transport,
                         std::chrono::milliseconds timeout = {}) {
  const Setting own("RANK", std::to_string(rank));
  const Setting all("WORLD_SIZE", std::to_string(ranks));
  const Setting address("MASTER_ADDR", "127.0.0.1");
  const Setting place("MASTER_PORT", std::to_string(port));
  return Communicator::from_environment({.transport = transport, .timeout = timeout});
}

}  // namespace rondo::test
