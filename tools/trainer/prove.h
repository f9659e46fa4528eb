// From a run to the evidence that formulas are held against.
#pragma once

#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/report/record.h"
#include "tools/trainer/report/validation.h"
#include "tools/trainer/session.h"

namespace rondo::train {

/// Collective; of a run of some `steps`. Where options.formulas is full, times the steps'
/// communication alone at the end.
Evidence evidence_of(Session& session, Communicator& world, const Options& options,
                     const std::vector<StepRecord>& steps);

/// Local. What options.profile says of the transport that the steps' calls go over. Throws
/// Error{invalid_argument} for a profile that is none.
Link link_of(Session& session, Communicator& world, const Options& options);

/// RONDO_ALGORITHM, or NCCL's name for it, is set: then --validate asks for no rings.
bool algorithm_is_chosen();

}  // namespace rondo::train
