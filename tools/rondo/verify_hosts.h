// The part of `rondo verify` about hosts with several ranks.
#pragma once

#include <string>

namespace rondo::tool {

struct VerifyHosts {
  std::string collective{};  ///< empty: all
  std::string algorithm{};   ///< empty: all compositions
  std::string hosts{};       ///< numbers of hosts, e.g. "1-5"
  std::string ranks_per_host{};
  bool lowered = false;
};

/// Proves compositions for every mixture of hosts; prints a line for each. The exit status.
int verify_hosts(const VerifyHosts& input);

}  // namespace rondo::tool
