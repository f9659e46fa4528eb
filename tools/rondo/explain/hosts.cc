#include "tools/rondo/explain/hosts.h"

#include <algorithm>

#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr std::size_t most_listed_hosts = 16;

std::string name_of_host(const Topology& topology, const Hosts& hosts, int host) {
  const std::string number = "host " + std::to_string(host);
  const Host* const known = described(topology, hosts, host);
  return known == nullptr || known->name.empty() ? number : number + " (" + known->name + ")";
}

}  // namespace

const Host* described(const Topology& topology, const Hosts& hosts, int host) {
  const auto first = static_cast<std::size_t>(hosts.ranks(host).front());
  const auto number = static_cast<std::size_t>(topology.host.empty() ? host : topology.host[first]);
  return number < topology.hosts.size() ? &topology.hosts[number] : nullptr;
}

std::vector<ShownHost> shown_hosts(const Topology& topology) {
  std::vector<ShownHost> all;
  if (topology.host.empty()) return all;
  const Hosts hosts(topology);
  for (int host = 0; hosts.count() > 1 && host < hosts.count(); ++host)
    all.push_back({name_of_host(topology, hosts, host), hosts.ranks(host)});
  return all;
}

std::vector<std::string> host_words(const std::vector<ShownHost>& hosts) {
  if (hosts.size() > most_listed_hosts) {
    const auto by_size = [](const ShownHost& a, const ShownHost& b) {
      return a.ranks.size() < b.ranks.size();
    };
    const auto [least, most] = std::minmax_element(hosts.begin(), hosts.end(), by_size);
    std::string each = std::to_string(least->ranks.size());
    if (most->ranks.size() > least->ranks.size()) each += "-" + std::to_string(most->ranks.size());
    return {"on " + std::to_string(hosts.size()) + " hosts with " + each +
            (each == "1" ? " rank each" : " ranks each")};
  }
  std::vector<std::string> words;
  for (const ShownHost& host : hosts) {
    if (!words.empty()) words.back() += ",";
    words.push_back((host.ranks.size() == 1 ? "rank " : "ranks ") + ranks_text(host.ranks) +
                    " on " + host.name);
  }
  return words;
}

}  // namespace rondo::tool
