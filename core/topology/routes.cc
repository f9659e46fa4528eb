#include "core/topology/routes.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>

#include "rondo/error.h"

namespace rondo {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, what, {.remedy = remedy});
}

/// More would not fit into memory, nor their numbers into an int.
constexpr std::size_t most_links = std::size_t{1} << 26;

int groups_of(int hosts, int group) { return (hosts + group - 1) / group; }

/// Hosts along the dimensions before this one.
int stride_of(const std::vector<int>& extents, std::size_t dimension) {
  return std::accumulate(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(dimension),
                         1, std::multiplies<>());
}

}  // namespace

Routes::Routes(const Topology& topology)
    : hosts_(topology),
      fabric_(topology.fabric),
      memory_(topology.memory),
      network_alpha_(topology.network_alpha) {
  if (fabric_.group < 1)
    refuse("a group of " + std::to_string(fabric_.group) + " hosts", "1 or more");
  add_ports(topology);
  if (fabric_.kind == FabricKind::cables)
    add_cables(topology);
  else
    add_fabric();
  if (topology.socket_beta > 0) add_sockets(topology.socket_beta);
}

/// Hosts are numbered here in the order of their first ranks, in the topology by their own numbers.
void Routes::add_ports(const Topology& topology) {
  for (int host = 0; host < hosts_.count(); ++host) {
    const int number = topology.host.empty()
                           ? host
                           : topology.host[static_cast<std::size_t>(hosts_.ranks(host).front())];
    const auto at = static_cast<std::size_t>(number);
    const std::size_t described = at < topology.hosts.size() ? topology.hosts[at].ports.size() : 0;
    for (std::size_t port = 0; port < described; ++port)
      betas_.push_back(beta_of(topology.hosts[at].ports[port]));
    if (described == 0) betas_.push_back(default_port_beta);
    first_port_.push_back(static_cast<int>(betas_.size()));
  }
  const std::vector<double> in = betas_;
  betas_.insert(betas_.end(), in.begin(), in.end());
  first_of_fabric_ = static_cast<int>(betas_.size());
}

void Routes::add_fabric() {
  const int hosts = hosts_.count();
  const int groups = groups_of(hosts, fabric_.group);
  std::size_t links = 0;
  switch (fabric_.kind) {
    case FabricKind::one_switch:
    case FabricKind::cables:
      break;
    case FabricKind::fat_tree:
      links = 2 * static_cast<std::size_t>(groups);
      break;
    case FabricKind::rail_optimised: {
      int rails = 1;
      for (int host = 0; host < hosts; ++host) rails = std::max(rails, ports_at(host));
      links = 2 * static_cast<std::size_t>(rails);
      break;
    }
    case FabricKind::dragonfly:
      links = static_cast<std::size_t>(groups) * static_cast<std::size_t>(groups);
      break;
    case FabricKind::torus: {
      std::int64_t all = 1;
      for (const int extent : fabric_.extents)
        all = std::min<std::int64_t>(all * extent, 1LL << 40);
      if (all != hosts)
        refuse("a torus of " + std::to_string(all) + " hosts for " + std::to_string(hosts),
               "extents whose product is the number of hosts");
      links = 2 * fabric_.extents.size() * static_cast<std::size_t>(hosts);
      break;
    }
  }
  if (links > most_links)
    refuse("a fabric of " + std::to_string(links) + " links", "larger groups, or fewer hosts");
  betas_.insert(betas_.end(), links, fabric_.beta);
}

void Routes::add_cables(const Topology& topology) {
  int hosts = 0;
  for (int host = 0; host < hosts_.count(); ++host) {
    const auto rank = static_cast<std::size_t>(hosts_.ranks(host).front());
    numbers_.push_back(topology.host.empty() ? host : topology.host[rank]);
    hosts = std::max(hosts, numbers_.back() + 1);
  }
  for (const Cable& cable : fabric_.cables) betas_.insert(betas_.end(), 2, cable.beta);
  cabling_ = Cabling(fabric_.cables, hosts);
}

/// Of each socket a link out and one in.
void Routes::add_sockets(double beta) {
  first_of_sockets_ = links();
  socket_.resize(static_cast<std::size_t>(hosts_.ranks()));
  int sockets = 0;
  for (int host = 0; host < hosts_.count(); ++host) {
    for (const int rank : hosts_.ranks(host))
      socket_[static_cast<std::size_t>(rank)] = sockets + hosts_.socket_of(rank);
    sockets += static_cast<int>(hosts_.sockets(host).size());
  }
  betas_.insert(betas_.end(), 2 * static_cast<std::size_t>(sockets), beta);
}

int Routes::port_of(int rank) const {
  const int host = hosts_.host_of(rank);
  return first_port_[static_cast<std::size_t>(host)] + hosts_.port_of(rank);
}

void Routes::between(int from, int to, std::vector<int>& into) const {
  if (same_host(from, to)) {
    const auto link = [&](int rank) {
      return first_of_sockets_ + 2 * socket_[static_cast<std::size_t>(rank)];
    };
    into = {link(from), link(to) + 1};
    return;
  }
  const int out = port_of(from);
  const int in = first_port_.back() + port_of(to);
  into.assign(1, out);
  if (fabric_.kind == FabricKind::torus) {
    by_torus(hosts_.host_of(from), hosts_.host_of(to), into);
  } else if (fabric_.kind == FabricKind::cables) {
    const auto number = [&](int rank) {
      return numbers_[static_cast<std::size_t>(hosts_.host_of(rank))];
    };
    cabling_.between(number(from), number(to), first_of_fabric_, into);
  } else {
    by_groups(from, to, into);
  }
  into.push_back(in);
}

void Routes::by_groups(int from, int to, std::vector<int>& into) const {
  const bool rails = fabric_.kind == FabricKind::rail_optimised;
  const auto group = [&](int rank) {
    const int host = hosts_.host_of(rank);
    return rails ? hosts_.port_of(rank) : host / fabric_.group;
  };
  const int one = group(from);
  const int other = group(to);
  if (one == other || fabric_.kind == FabricKind::one_switch) return;
  if (fabric_.kind == FabricKind::dragonfly) {
    into.push_back(first_of_fabric_ + one * groups_of(hosts_.count(), fabric_.group) + other);
    return;
  }
  into.push_back(first_of_fabric_ + 2 * one);
  into.push_back(first_of_fabric_ + 2 * other + 1);
}

void Routes::by_torus(int from, int to, std::vector<int>& into) const {
  int here = from;
  for (std::size_t dimension = 0; dimension < fabric_.extents.size(); ++dimension) {
    const int extent = fabric_.extents[dimension];
    const int stride = stride_of(fabric_.extents, dimension);
    const int goal = to / stride % extent;
    const int ahead = (goal - here / stride % extent + extent) % extent;
    const bool up = 2 * ahead <= extent;
    for (int hop = up ? ahead : extent - ahead; hop > 0; --hop) {
      into.push_back(first_of_fabric_ + 2 * (static_cast<int>(dimension) * hosts_.count() + here) +
                     (up ? 0 : 1));
      const int place = here / stride % extent;
      here += ((place + (up ? 1 : extent - 1)) % extent - place) * stride;
    }
  }
}

}  // namespace rondo
