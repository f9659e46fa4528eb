// The part of `rondo verify` about hosts with several ranks.
#pragma once

#include <string>
#include <vector>

#include "core/topology/topology.h"

namespace rondo::tool {

struct VerifyHosts {
  std::string collective{};  ///< empty: all
  std::string algorithm{};   ///< empty: all compositions
  std::string hosts{};       ///< numbers of hosts, e.g. "1-5"
  std::string ranks_per_host{};
  bool lowered = false;
};

struct Mixture {
  std::string words{};  ///< "3+5 ranks, dealt out in turn"
  Topology topology{};
};

/// Hosts of equal and of different sizes: numbers of hosts ("1-5"), and of ranks of the largest. Or
/// the ranks of each host ("3+5").
std::vector<Mixture> mixtures_of(const std::string& hosts, const std::string& ranks_per_host);

/// Proves compositions for every mixture of hosts; prints a line for each. The exit status.
int verify_hosts(const VerifyHosts& input);

}  // namespace rondo::tool
