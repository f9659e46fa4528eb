// The sweep of one rank: every type, operator, root and size that the options ask for.
#pragma once

#include <span>
#include <string>

#include "bench/common/options.h"
#include "bench/common/program.h"
#include "bench/common/report.h"

namespace rondo::bench {

/// Measures, and prints on rank 0. The summary is the same on every rank. Throws rondo::Error,
/// std::invalid_argument for a root outside the world, std::bad_alloc.
Summary sweep(Communicator& communicator, const Program& program, const Options& options,
              std::span<const std::string> arguments);

}  // namespace rondo::bench
