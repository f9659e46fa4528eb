// The hosts of ranks, as explanations, pages and pictures show them.
#pragma once

#include <string>
#include <vector>

#include "core/topology/topology.h"

namespace rondo::tool {

struct ShownHost {
  std::string name{};        ///< "host 0", or "host 0 (a)" where it has a name
  std::vector<int> ranks{};  ///< ascending
};

/// In the order of their first ranks. None where it is not known who lives where, or all ranks
/// share a host.
std::vector<ShownHost> shown_hosts(const Topology& topology);

/// What the topology says of a host, by the number that `hosts` gives it; null: nothing.
const Host* described(const Topology& topology, const Hosts& hosts, int host);

/// "ranks 0-3 on host 0, ranks 4-7 on host 1", word by word. Many hosts are summed up.
std::vector<std::string> host_words(const std::vector<ShownHost>& hosts);

}  // namespace rondo::tool
