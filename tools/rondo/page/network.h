// The links between hosts, as a page's clock takes them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/topology/topology.h"

namespace rondo::tool {

/// {"alpha": seconds a message between hosts, "beta": seconds a byte of the port of rank 0,
/// "links": by link, how many times as many seconds a byte takes there,
/// "ports": by rank, the link by which its messages leave its host,
/// "ways": by port of the sender, then by port of the receiver: the first hop, or -1 in one host,
/// "hops": a link and the next hop each, or -1 at the end}. Ways that end alike share hops, so that 64
/// hosts fit on a page.
nlohmann::ordered_json network_data(const Topology& topology);

}  // namespace rondo::tool
