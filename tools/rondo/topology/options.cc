#include "tools/rondo/topology/options.h"

#include <algorithm>
#include <charconv>

#include "core/base/text.h"
#include "core/topology/generate.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/format.h"
#include "tools/rondo/topology/file.h"

namespace rondo::tool {
namespace {

int positive(const std::string& text, const std::string& whole) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1)
    reject("'" + text + "' in --hosts " + whole + " is not a number from 1 on",
           "2x4 for two hosts with 4 ranks each, or 3+5 for one with 3 and one with 5");
  return value;
}

}  // namespace

std::vector<int> parse_hosts(const std::string& text) {
  std::vector<int> sizes;
  long long ranks = 0;
  const std::vector<std::string> parts = split(text, '+');  // leaves out those of nothing
  if (std::ssize(parts) != std::ranges::count(text, '+') + 1) positive("", text);
  for (const std::string& part : parts) {
    const std::size_t cross = part.find('x');
    const int count = cross == std::string::npos ? 1 : positive(part.substr(0, cross), text);
    const int size = positive(cross == std::string::npos ? part : part.substr(cross + 1), text);
    ranks += static_cast<long long>(count) * size;
    if (ranks > most_ranks)
      reject("--hosts " + text + " has more than " + std::to_string(most_ranks) + " ranks",
             "fewer hosts, or fewer ranks on each");
    sizes.insert(sizes.end(), static_cast<std::size_t>(count), size);
  }
  return sizes;
}

void add_topology_options(CLI::App& command, TopologyInput& input, CLI::Option* ranks) {
  const std::string compositions =
      " instead of --ranks: 2x4, 3+5, 512x8. Compositions\n"
      "such as hierarchical(one_shot,ring) are known then, too";
  CLI::Option* const hosts = command.add_option(
      "--hosts", input.hosts,
      "the ranks on each host" + (ranks == nullptr ? ": 2x4, 3+5" : compositions));
  CLI::Option* const file = command.add_option(
      "--topology", input.topology,
      "where ranks live, and what links them: what `rondo topology --json` printed");
  file->excludes(hosts);
  if (ranks == nullptr) return;
  hosts->excludes(ranks);
  file->excludes(ranks);
}

std::optional<Topology> topology_of(const TopologyInput& input) {
  if (!input.topology.empty()) {
    Topology topology = read_topology(input.topology);
    check_ranks(topology.ranks);
    return topology;
  }
  if (input.hosts.empty()) return std::nullopt;
  return on_hosts(parse_hosts(input.hosts), Numbering::by_host);
}

Topology topology_of(const TopologyInput& input, int ranks) {
  return topology_of(input).value_or(Topology{.ranks = ranks});
}

std::string costs_text(const Topology& topology) {
  const auto unknown = [](const Host& host) {
    return host.ports.empty() ||
           std::ranges::any_of(host.ports, [](const Port& port) { return port.beta == 0; });
  };
  const bool assumed = topology.hosts.empty() || std::ranges::any_of(topology.hosts, unknown);
  return format("alpha %g s and %g s/byte in a host, alpha %g s between hosts, gamma %g s/byte%s",
                topology.memory.alpha, topology.memory.beta, topology.network_alpha, topology.gamma,
                assumed ? ", unknown ports as 10 Gbit/s" : "");
}

}  // namespace rondo::tool
