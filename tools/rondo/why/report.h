// Explains as text which path a call takes and why. A pure function of facts and a call.
#pragma once

#include <string>

#include "core/control/call.h"
#include "core/plan/choose.h"
#include "core/schedule/simulate.h"
#include "tools/rondo/why/facts.h"

namespace rondo::tool::why {

/// The choice, in the words of RONDO_DEBUG=INFO and then at length, and what the simulator predicts
/// of all algorithms. Throws Error{configuration} as communicators do.
std::string report(const Call& call, const Facts& facts, const AlgorithmSelection& selection,
                   const Costs& costs);

}  // namespace rondo::tool::why
