// A whole run: its steps, its output and its files.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/options.h"
#include "tools/trainer/report/record.h"

namespace rondo::train {

/// Collective. Rank 0 writes to `out`. `columns`: width of the terminal; 0: `out` is not a
/// terminal, so there is no bar. Returns all steps, on every rank. Throws AgreedError on all ranks,
/// or another error on one rank, which must then abort the world.
std::vector<StepRecord> run(const Options& options, Communicator& world, std::ostream& out,
                            std::size_t columns);

}  // namespace rondo::train
