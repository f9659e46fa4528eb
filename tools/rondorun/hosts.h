// The list of hosts given to --hosts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rondo::launch {

struct Host {
  std::string name{};  ///< as ssh understands it: alias, name, address, perhaps with "user@"
  int ranks = 1;

  friend bool operator==(const Host&, const Host&) = default;
};

/// "a:4,user@b:4,[::1]:2,c": a host without a count runs one rank. Throws LaunchError.
std::vector<Host> parse_hosts(std::string_view text);

/// Keeps the first `ranks` ranks of the list. Throws LaunchError when the hosts offer fewer.
std::vector<Host> limit_hosts(std::vector<Host> hosts, int ranks);

/// The name without "user@" and brackets: what other hosts can connect to.
std::string address_of(const Host& host);

/// True for "localhost" and this machine's own name, which need no ssh.
bool is_this_machine(const Host& host);

std::string this_machine();

}  // namespace rondo::launch
