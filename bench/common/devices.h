// The facts about machine and settings in a report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/common/report.h"
#include "rondo/rondo.h"

namespace rondo::bench {

/// Collective: every rank's process, host and CPU, in rank order. Each process has `threads` ranks.
std::vector<Device> gather_devices(Communicator& communicator, int threads);

/// NAME=VALUE of the variables that can change a run: RONDO_*, NCCL_* and those of launchers.
/// Others are left out, since they may hold secrets.
std::vector<std::string> relevant_environment();

/// NCCL_TESTS_MIN_BW in GB/s, where it is set to a number.
std::optional<double> required_bandwidth();

}  // namespace rondo::bench
