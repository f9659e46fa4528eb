// A whole run: every step, what a person sees of it, and its files.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/options.h"
#include "tools/trainer/report/record.h"

namespace rondo::train {

/// Collective. Rank 0 writes to `out`; a bar needs a terminal, of so many `columns`; 0: it is none.
/// Returns every step, on every rank.
/// Throws AgreedError on all ranks, or another error on one, which must then abort the world.
std::vector<StepRecord> run(const Options& options, Communicator& world, std::ostream& out,
                            std::size_t columns);

}  // namespace rondo::train
