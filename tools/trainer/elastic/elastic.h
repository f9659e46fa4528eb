// A run whose ranks may die, and which others may join: see Elastic training in README.md.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/elastic/meeting.h"
#include "tools/trainer/options.h"
#include "tools/trainer/report/record.h"

namespace rondo::train {

/// Called before each step, so that tests can end a rank there. May be empty.
using StepHook = std::function<void(std::size_t steps_done)>;

/// As run().
std::vector<StepRecord> run_elastic(const Options& options, Communicator& world, std::ostream& out,
                                    const StepHook& hook = {});

/// `data`: the text's fingerprint.
Candidate candidate_of(const Options& options, std::uint64_t data);

}  // namespace rondo::train
