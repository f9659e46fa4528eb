// Composition: what carries a collective. One algorithm goes over all ranks, or one goes inside
// each host and another one across hosts (hierarchical.cc), or a user wrote it (core/schedule/text.h).
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/table.h"
#include "core/schedule/script.h"
#include "core/topology/topology.h"

namespace rondo {

/// What the names of compositions begin with: "hierarchical(INSIDE,ACROSS)". With three levels:
/// "hierarchical(SOCKET,INSIDE,ACROSS)".
inline constexpr std::string_view hierarchical_name = "hierarchical";

/// What runs inside hosts before something runs across them, and afterwards.
struct InsideCollectives {
  std::optional<Collective> before{};
  std::optional<Collective> after{};
};

/// A value; empty where it has neither `across` nor `written`.
struct Composition {
  const Algorithm* across = nullptr;  ///< over all ranks, where nothing is inside; null: `written`
  std::string_view inside{};          ///< the name of a row; empty: none
  std::string_view socket{};  ///< likewise: inside sockets, so that `inside` is between them
  Script written{};           ///< instead of both

  explicit operator bool() const { return across != nullptr || written; }
  Collective collective() const { return written ? written.collective() : across->collective; }
  /// "ring", "hierarchical(one_shot,ring)".
  std::string name() const;
  /// Adds all contributions at once, in rank order.
  bool rank_order() const { return !written && across->rank_order && inside.empty(); }
  /// Of a hierarchical one: few ranks of each host, one or one for each port (see shares()), have all
  /// that leaves the host or comes to it. Else all ranks share the work.
  bool by_leaders() const;
  /// Of a hierarchical one: the parts of a vector that ranks of a host share out. One for each port
  /// if it is passed on, since a rank uses one port.
  int shares(const Hosts& hosts) const;
  /// Of a hierarchical one.
  InsideCollectives inside_collectives() const;
  /// Likewise, for sums and copies.
  int levels_inside() const { return socket.empty() ? 1 : 2; }
  /// Throws what Script::build_right() does.
  Schedule build(const Topology& topology, int root) const;
  /// Chunks in a message of any rank, at most.
  int longest_message(const Topology& topology, int root) const;

  friend bool operator==(const Composition&, const Composition&) = default;
  friend auto operator<=>(const Composition&, const Composition&) = default;
};

/// By its name; empty where there is none.
Composition find_composition(Collective collective, std::string_view name);

enum class Levels : std::uint8_t { two, three };

/// All that have so many levels. Inside hosts and sockets: algorithms that do not cut the vector;
/// across hosts: any, but for all_to_all only those that send one block a message. Three levels are
/// for sums and copies, which cross from socket to socket once; blocks do that anyway.
const std::vector<Composition>& hierarchical_compositions(Collective collective,
                                                          Levels levels = Levels::two);

/// The schedule of `inside` in each host and `across` between them, see hierarchical.cc.
Schedule build_hierarchical(const Composition& composition, const Topology& topology, int root);

/// One rank's steps of it, see hierarchical_all_to_all.cc.
Steps hierarchical_all_to_all(Composition composition, std::shared_ptr<const Hosts> hosts,
                              int rank);
/// Chunks in its messages inside hosts, at most.
int longest_bundle(const Hosts& hosts);

}  // namespace rondo
