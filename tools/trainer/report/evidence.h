// Collects from a run the evidence that is compared with formulas.
#pragma once

#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/report/validation.h"
#include "tools/trainer/session.h"

namespace rondo::train {

/// Collective. The evidence of a run with these `steps`. If options.formulas is full, it times the
/// steps' communication alone at the end.
Evidence evidence_of(Session& session, Communicator& world, const Options& options,
                     const std::vector<StepRecord>& steps);

/// Collective. Whether the ranks are on more than one host.
bool on_several_hosts(Communicator& world);

/// Local. The entry of options.profile for the transport of the steps' calls. `apart`: the ranks
/// are on several hosts. Throws Error{invalid_argument} if the file is not a profile.
Link link_of(Session& session, Communicator& world, const Options& options, bool apart);

/// Equal for processes on one host.
std::string host_name();

/// Whether RONDO_ALGORITHM, or NCCL's name for it, is set. Then --validate does not ask for rings.
bool algorithm_is_chosen();

}  // namespace rondo::train
