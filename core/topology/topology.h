// Topology: where the ranks of a communicator live, and what links them. A value, equal on all of
// its ranks. Schedules need the ranks, their hosts and ports. The choice of algorithms also needs
// costs. Simulations need the rest, see routes.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rondo {

/// The kind of a link, for the choice of algorithms: stores and loads, or system calls and a wire.
enum class LinkClass : std::uint8_t { memory, network };

/// Seconds a message, and seconds a byte.
struct LinkCosts {
  double alpha = 0;
  double beta = 0;
};

/// Seconds a byte of a port whose speed is not known: 10 Gbit/s.
inline constexpr double default_port_beta = 8e-10;

/// A way out of a host, which its ranks share. It carries both directions at once.
struct Port {
  std::string name{};  ///< "eth0", "mlx5_0"
  bool rdma = false;
  double beta = 0;  ///< seconds a byte, each way; 0: unknown
  int socket = -1;  ///< the nearest one; -1: unknown
};

inline double beta_of(const Port& port) { return port.beta > 0 ? port.beta : default_port_beta; }

struct Device {
  std::string name{};
  int socket = -1;  ///< the nearest one; -1: unknown
};

struct Host {
  std::string name{};
  int cores = 0;  ///< 0: unknown
  int sockets = 1;
  std::vector<Port> ports{};
  std::vector<Device> devices{};
};

/// What stands between the hosts' ports.
enum class FabricKind : std::uint8_t {
  one_switch,      ///< only the ports limit
  fat_tree,        ///< a switch for each group of hosts, and a core above them
  rail_optimised,  ///< a switch for the n-th port of all hosts, and a core above them
  dragonfly,       ///< a switch for each group of hosts, and a link between any two groups
  torus,           ///< links between neighbours along each dimension
  cables           ///< no switch: cables between some hosts, and the others pass messages on
};

/// Between two hosts, by their numbers in Topology::hosts. It carries both directions at once.
struct Cable {
  int one = 0;
  int other = 0;
  double beta = default_port_beta;  ///< seconds a byte, each way
};

struct Fabric {
  FabricKind kind = FabricKind::one_switch;
  int group = 1;               ///< hosts below a switch, for fat_tree and dragonfly
  double beta = 0;             ///< seconds a byte of a link between switches, or between neighbours
  std::vector<int> extents{};  ///< torus: hosts along each dimension
  std::vector<Cable> cables{};
};

struct Topology {
  int ranks = 1;
  LinkClass links = LinkClass::memory;  ///< the slowest between any two ranks
  bool one_machine = false;             ///< all ranks run on one
  int short_frames = 2;                 ///< every channel holds, see core/plan/cut.h
  bool direct = false;                  ///< all ranks reach each other's memory
  /// By rank: its host's number. Empty: one host if one_machine, else a host for each rank.
  std::vector<int> host{};
  std::vector<int> socket{};  ///< by rank: the NUMA node, within its host; -1, or empty: unknown
  /// By rank: which of its host's ports it uses. Empty: the ranks of a host take turns.
  std::vector<int> port{};
  std::vector<Host> hosts{};  ///< by number; empty: unknown
  Fabric fabric{};
  LinkCosts memory{3e-7, 1e-10};  ///< between ranks of one host
  /// Seconds a byte of the link out of a socket to others of its host, which its ranks share, and of
  /// the link in. 0: sockets do not matter.
  double socket_beta = 0;
  double network_alpha = 1e-5;  ///< between hosts; bytes take what ports and the fabric take
  double gamma = 5e-11;         ///< seconds a reduced byte
};

/// The ranks of each host, in their order; hosts in the order of their first ranks.
class Hosts {
 public:
  explicit Hosts(const Topology& topology) {
    const auto ports_of = [&](std::size_t host) {
      const bool known = host < topology.hosts.size();
      return known ? std::max(1, static_cast<int>(topology.hosts[host].ports.size())) : 1;
    };
    for (std::size_t host = 0; host < topology.hosts.size(); ++host)
      ports_ = host == 0 ? ports_of(host) : std::min(ports_, ports_of(host));
    std::map<int, int> numbers;  // by the topology's number
    for (int rank = 0; rank < topology.ranks; ++rank) {
      const int host = number(topology, rank);
      const auto [found, is_new] = numbers.try_emplace(host, count());
      if (is_new) ranks_.emplace_back();
      std::vector<int>& here = ranks_[static_cast<std::size_t>(found->second)];
      const int index = static_cast<int>(here.size());
      const int port = topology.port.empty() ? index % ports_of(static_cast<std::size_t>(host))
                                             : topology.port[static_cast<std::size_t>(rank)];
      places_.push_back({.host = found->second, .index = index, .port = port});
      here.push_back(rank);
      largest_ = std::max(largest_, static_cast<int>(here.size()));
    }
    for (const std::vector<int>& here : ranks_)
      if (!topology.socket.empty()) number_sockets(topology, here);
  }

  int count() const { return static_cast<int>(ranks_.size()); }
  int ranks() const { return static_cast<int>(places_.size()); }
  const std::vector<int>& ranks(int host) const { return ranks_[static_cast<std::size_t>(host)]; }
  int size(int host) const { return static_cast<int>(ranks(host).size()); }
  int largest() const { return largest_; }
  /// Of a host, at least; 1 where they are unknown.
  int ports() const { return ports_; }
  /// The number of the port, on its host, that the rank uses.
  int port_of(int rank) const { return places_[static_cast<std::size_t>(rank)].port; }
  int host_of(int rank) const { return places_[static_cast<std::size_t>(rank)].host; }
  /// The rank's place among those of its host.
  int index_of(int rank) const { return places_[static_cast<std::size_t>(rank)].index; }
  /// Several hosts, and several ranks on one of them.
  bool have_two_levels() const { return count() > 1 && largest_ > 1; }
  /// The ranks of each of a host's sockets, in the order of their first ranks; all ranks together if
  /// one of them may run on several sockets.
  std::vector<std::vector<int>> sockets(int host) const {
    std::vector<std::vector<int>> all;
    for (const int rank : ranks(host)) {
      const auto socket = static_cast<std::size_t>(socket_of(rank));
      all.resize(std::max(all.size(), socket + 1));
      all[socket].push_back(rank);
    }
    return all;
  }
  /// The rank's socket, by its place in sockets().
  int socket_of(int rank) const { return places_[static_cast<std::size_t>(rank)].socket; }

 private:
  struct Place {
    int host = 0;
    int index = 0;
    int port = 0;
    int socket = 0;
  };

  void number_sockets(const Topology& topology, const std::vector<int>& here) {
    const auto known = [&](int rank) { return topology.socket[static_cast<std::size_t>(rank)]; };
    if (std::ranges::any_of(here, [&](int rank) { return known(rank) < 0; })) return;
    std::map<int, int> numbers;  // by the topology's number
    for (const int rank : here)
      places_[static_cast<std::size_t>(rank)].socket =
          numbers.try_emplace(known(rank), static_cast<int>(numbers.size())).first->second;
  }

  static int number(const Topology& topology, int rank) {
    if (!topology.host.empty()) return topology.host[static_cast<std::size_t>(rank)];
    return topology.one_machine ? 0 : rank;
  }

  std::vector<std::vector<int>> ranks_{};
  std::vector<Place> places_{};
  int largest_ = 0;
  int ports_ = 1;
};

}  // namespace rondo
