// Topologies for people.
#pragma once

#include <string>

#include "core/topology/topology.h"

namespace rondo::tool {

/// A line for each host, or for several that are alike, and the fabric between them.
std::string topology_text(const Topology& topology);

/// A picture: hosts as boxes with their ranks and ports, and the switches between them. Of many
/// hosts it shows the first ones.
std::string topology_svg(const Topology& topology);

/// "25 Gbit/s"; "unknown speed" for 0.
std::string speed_text(double beta);

}  // namespace rondo::tool
