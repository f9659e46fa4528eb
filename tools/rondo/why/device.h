// Explains as text how a call between GPUs would go. A pure function of a call and settings.
#pragma once

#include <string>

#include "core/control/call.h"
#include "core/plan/choose.h"

namespace rondo::tool::why {

/// For ranks with a GPU each. Those of a host reach each other's memory. Throws Error{configuration}
/// as communicators do.
std::string report_on_devices(const Call& call, const Topology& around,
                              const AlgorithmSelection& selection);

}  // namespace rondo::tool::why
