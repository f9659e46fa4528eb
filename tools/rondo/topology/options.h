// The options by which subcommands are told where ranks live.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/topology/topology.h"

namespace rondo::tool {

struct TopologyInput {
  std::string hosts{};     ///< "2x4", "3+5": ranks on each host
  std::string topology{};  ///< a file
};

/// Adds --hosts and --topology. They exclude each other and `ranks`, whose number they say, unless
/// that is null.
void add_topology_options(CLI::App& command, TopologyInput& input, CLI::Option* ranks);

/// std::nullopt if neither option was given. Throws Error{invalid_argument}.
std::optional<Topology> topology_of(const TopologyInput& input);
/// Then so many ranks whose hosts are not known.
Topology topology_of(const TopologyInput& input, int ranks);

/// "alpha 1e-05 s between hosts, 3e-07 s inside, ..."
std::string costs_text(const Topology& topology);

/// "2x4+3": two hosts with 4 ranks and one with 3. Throws Error{invalid_argument}.
std::vector<int> parse_hosts(const std::string& text);

}  // namespace rondo::tool
