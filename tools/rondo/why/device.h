// Explains as text how a call between GPUs would go. A pure function of a call and settings.
#pragma once

#include <string>

#include "core/control/call.h"
#include "core/plan/choose.h"

namespace rondo::tool::why {

/// For ranks of one host with a GPU each, which reach each other's memory. Throws
/// Error{configuration} as communicators do.
std::string report_on_devices(const Call& call, int ranks, const AlgorithmSelection& selection);

}  // namespace rondo::tool::why
