// Trainings on ranks that are processes, which tests kill.
#pragma once

#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tests/ports.h"
#include "tests/support/processes.h"
#include "tests/support/setting.h"

namespace rondo::test {

/// What body(world) returns on each rank; "" where it was killed.
template <class Body>
std::vector<std::string> reports_of(int ranks, const std::string& transport, Body body) {
  const int port = free_port();
  return run_ranks(ranks, [&](int rank) {
    const Setting own("RANK", std::to_string(rank));
    const Setting all("WORLD_SIZE", std::to_string(ranks));
    const Setting address("MASTER_ADDR", "127.0.0.1");
    const Setting place("MASTER_PORT", std::to_string(port));
    auto world = Communicator::from_environment({.transport = transport});
    return body(world);
  });
}

}  // namespace rondo::test
