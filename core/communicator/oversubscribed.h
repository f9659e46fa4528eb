// Whether this machine is oversubscribed: it has more ranks than cores.
#pragma once

#include <vector>

#include "core/transport/host.h"

namespace rondo::detail {

/// Whether the machine that `rank` runs on is oversubscribed. `cores`: the number that each rank
/// counted on its machine. Ranks of one machine can count differently, if a core is taken from it
/// meanwhile. The least number holds, so that all of them answer alike: what they decide by it must
/// not differ (core/execute/window_watch.h).
bool is_oversubscribed(const std::vector<HostInfo>& hosts, const std::vector<int>& cores, int rank);

}  // namespace rondo::detail
