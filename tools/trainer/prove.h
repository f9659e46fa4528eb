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

/// Collective. Whether not all ranks are on one host.
bool on_several_hosts(Communicator& world);

/// Local. What options.profile says of the transport that the steps' calls go over, between ranks
/// on several hosts where `apart`. Throws Error{invalid_argument} for a profile that is none.
Link link_of(Session& session, Communicator& world, const Options& options, bool apart);

/// RONDO_ALGORITHM, or NCCL's name for it, is set: then --validate asks for no rings.
bool algorithm_is_chosen();

}  // namespace rondo::train
