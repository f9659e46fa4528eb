// Costs of links as somebody measured them, in place of the defaults: RONDO_LINK_COSTS.
#pragma once

#include <string>

#include "core/settings/values.h"
#include "core/topology/topology.h"

namespace rondo {

/// Only what was measured changes. `network_beta` is that of every port. A host without ports gets one.
void set_costs(const MeasuredCosts& costs, Topology& topology);

/// As RONDO_LINK_COSTS takes it, with three digits.
std::string to_text(const MeasuredCosts& costs);

}  // namespace rondo
