#include "core/topology/cabling.h"

#include <algorithm>
#include <string>

#include "rondo/error.h"

namespace rondo {
namespace {

constexpr int most_hosts = 1024;  ///< the ways between them are a table

[[noreturn]] void refuse_cables(const std::string& what, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, what, {.remedy = remedy});
}

std::string words(const Cable& cable) {
  return "hosts " + std::to_string(cable.one) + " and " + std::to_string(cable.other);
}

/// By host: its neighbours, and the links to them.
using Neighbours = std::vector<std::vector<std::pair<int, int>>>;

Neighbours neighbours_of(const std::vector<Cable>& cables, int hosts) {
  Neighbours all(static_cast<std::size_t>(hosts));
  int link = 0;
  for (const Cable& cable : cables) {
    for (const int end : {cable.one, cable.other})
      if (end < 0 || end >= hosts)
        refuse_cables("a cable between " + words(cable) + " of " + std::to_string(hosts),
                      "hosts from 0 to " + std::to_string(hosts - 1));
    if (cable.one == cable.other) refuse_cables("a cable from a host to itself", "two hosts");
    auto& from_one = all[static_cast<std::size_t>(cable.one)];
    if (std::ranges::any_of(from_one, [&](const auto& each) { return each.first == cable.other; }))
      refuse_cables("two cables between " + words(cable), "one, with the speed of both");
    from_one.emplace_back(cable.other, link);
    all[static_cast<std::size_t>(cable.other)].emplace_back(cable.one, link + 1);
    link += 2;
  }
  return all;
}

}  // namespace

Cabling::Cabling(const std::vector<Cable>& cables, int hosts) {
  if (hosts > most_hosts)
    refuse_cables("cables between " + std::to_string(hosts) + " hosts",
                  "at most " + std::to_string(most_hosts) + ", or another fabric");
  const Neighbours neighbours = neighbours_of(cables, hosts);
  const auto count = static_cast<std::size_t>(hosts);
  hops_.assign(count, std::vector<Hop>(count));
  for (int from = 0; from < hosts; ++from) {
    std::vector<int> reached{from};  // nearest first
    for (std::size_t at = 0; at < reached.size(); ++at) {
      for (const auto& [host, link] : neighbours[static_cast<std::size_t>(reached[at])]) {
        if (host == from || hop(from, host).host >= 0) continue;
        hop(from, host) = {reached[at], link};
        reached.push_back(host);
      }
    }
    if (static_cast<int>(reached.size()) == hosts) continue;
    std::ranges::sort(reached);
    int missing = 0;
    while (std::ranges::binary_search(reached, missing)) ++missing;
    refuse_cables(
        "no cables lead from host " + std::to_string(from) + " to host " + std::to_string(missing),
        "a way between any two hosts");
  }
}

void Cabling::between(int from, int to, int first_link, std::vector<int>& into) const {
  const auto begin = static_cast<std::ptrdiff_t>(into.size());
  if (from < to) {
    for (int host = to; host != from; host = hop(from, host).host)
      into.push_back(first_link + hop(from, host).link);
    std::reverse(into.begin() + begin, into.end());
    return;
  }
  // The way back, each cable in the other direction.
  for (int host = from; host != to; host = hop(to, host).host)
    into.push_back(first_link + (hop(to, host).link ^ 1));
}

void set_cabled_ports(Topology& topology) {
  if (topology.fabric.kind != FabricKind::cables) return;
  std::vector<double> speeds(topology.hosts.size());
  for (const Cable& cable : topology.fabric.cables)
    for (const int end : {cable.one, cable.other})
      speeds.at(static_cast<std::size_t>(end)) += 1 / cable.beta;
  for (std::size_t host = 0; host < speeds.size(); ++host) {
    if (speeds[host] <= 0) continue;  // the only one
    std::vector<Port>& ports = topology.hosts[host].ports;
    if (ports.empty()) ports.push_back({.name = "cables"});
    for (Port& port : ports)
      if (port.beta <= 0) port.beta = 1 / speeds[host];
  }
}

}  // namespace rondo
