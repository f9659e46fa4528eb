// Whether ranks outnumber the cores of their machine.
#pragma once

#include <vector>

#include "core/transport/host.h"

namespace rondo::detail {

/// Of the machine that `rank` runs on. `cores`: what each rank has counted there. Where ranks of a
/// machine counted differently, as when a core is taken from it meanwhile, the least holds, so that
/// all of them answer alike: what they decide by it must not differ (core/execute/contest.h).
bool is_crowded(const std::vector<HostInfo>& hosts, const std::vector<int>& cores, int rank);

}  // namespace rondo::detail
