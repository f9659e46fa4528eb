// Routes: the links that a message between two hosts occupies, or between two sockets of a host.
//
//   one_switch       port out, port in
//   fat_tree         port out, [the group's links up, the other group's links down,] port in
//   rail_optimised   port out, [this rail's links up, the other rail's links down,] port in
//   dragonfly        port out, [the link between the two groups,] port in
//   torus            port out, one link for each hop along the first dimension, then along the
//                    next, the shorter way round, port in
//   cables           port out, the fewest cables, port in; the way back is the same
//
// What stands in brackets is left out within one group or rail. A host's ranks share its ports in
// turn: its rank number i uses port i modulo their number. Between sockets of a host: the link out of
// one and the link into the other, if the topology says how fast they are.
#pragma once

#include <cstddef>
#include <vector>

#include "core/topology/cabling.h"
#include "core/topology/topology.h"

namespace rondo {

class Routes {
 public:
  /// Throws Error{invalid_argument} if the fabric does not fit the hosts.
  explicit Routes(const Topology& topology);

  bool same_host(int from, int to) const { return hosts_.host_of(from) == hosts_.host_of(to); }
  /// Of one host, with links between its sockets.
  bool between_sockets(int from, int to) const {
    return first_of_sockets_ > 0 && same_host(from, to) &&
           hosts_.socket_of(from) != hosts_.socket_of(to);
  }
  const LinkCosts& memory() const { return memory_; }
  double network_alpha() const { return network_alpha_; }

  /// How many links there are.
  int links() const { return static_cast<int>(betas_.size()); }
  /// Seconds a byte.
  double beta(int link) const { return betas_[static_cast<std::size_t>(link)]; }
  /// The link by which a rank's messages leave its host.
  int port_out(int rank) const { return port_of(rank); }
  /// The links from one rank to one of another host or socket, in order. `into` is overwritten.
  void between(int from, int to, std::vector<int>& into) const;

 private:
  void add_ports(const Topology& topology);
  void add_fabric();
  void add_cables(const Topology& topology);
  void add_sockets(double beta);
  int port_of(int rank) const;
  int ports_at(int host) const {
    return first_port_[static_cast<std::size_t>(host) + 1] -
           first_port_[static_cast<std::size_t>(host)];
  }
  void by_groups(int from, int to, std::vector<int>& into) const;
  void by_torus(int from, int to, std::vector<int>& into) const;

  Hosts hosts_;
  Fabric fabric_;
  LinkCosts memory_;
  double network_alpha_;
  std::vector<int> first_port_{0};  ///< by host, and one more: how many ports there are
  int first_of_fabric_ = 0;         ///< its links stand behind the ports', out and in
  int first_of_sockets_ = 0;        ///< 0: they have none
  std::vector<int> socket_{};       ///< by rank: counted over all hosts
  std::vector<double> betas_{};     ///< by link: ports out, ports in, the fabric's, the sockets'
  Cabling cabling_{};
  std::vector<int> numbers_{};  ///< by host here, for cables: its number in the topology
};

}  // namespace rondo
