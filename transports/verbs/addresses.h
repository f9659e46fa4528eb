// GIDs: a port's addresses, their kinds, and which one to use. Needs no libibverbs.
//
// On InfiniBand a port is reached by its LID within a subnet, and by GID 0 beyond. On Ethernet
// (RoCE) a port is reached by GIDs only. Each IP address of the network device is a GID, in two
// kinds:
//
// - RoCE v2 travels in UDP over IP and is routed.
// - RoCE v1 travels in bare Ethernet frames, within one broadcast domain.
//
// Two ends must use the same kind, and both IPv4 or both IPv6.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::verbs {

enum class LinkLayer : std::uint8_t { unknown, infiniband, ethernet };
enum class GidKind : std::uint8_t { infiniband, roce_v1, roce_v2 };
/// How far an address reaches.
enum class GidFamily : std::uint8_t { ipv4, ipv6, ipv6_link_local };

std::string_view name(LinkLayer layer);  ///< "InfiniBand", "Ethernet", "unknown link layer"
std::string_view name(GidKind kind);     ///< "InfiniBand", "RoCE v1", "RoCE v2"

/// One entry of a port's table. Value type.
struct Gid {
  std::array<std::uint8_t, 16> bytes{};  ///< as ibv_gid::raw, network order
  int index = 0;                         ///< in the port's table
  GidKind kind = GidKind::infiniband;
  std::string interface {};  ///< the net device below, "eth0"; empty on InfiniBand
  friend bool operator==(const Gid&, const Gid&) = default;
};

GidFamily family(const Gid& gid);
/// The first eight bytes, in host order: an InfiniBand subnet.
std::uint64_t subnet_prefix(const Gid& gid);
/// "10.77.0.1" for an IPv4 address that is mapped into IPv6, else "fe80::1" as IPv6 is written.
std::string to_text(const Gid& gid);

struct GidChoice {
  bool found = false;
  Gid gid{};             ///< meaningful where found
  std::string reason{};  ///< why this one, or why none, in words for `rondo rdma` and errors
};

/// `table`: the port's entries that are not empty, in any order. `wanted`: RONDO_IB_GID_INDEX, or
/// -1. Without a wanted one, Ethernet prefers RoCE v2 on IPv4, then RoCE v2 on IPv6, then RoCE v2
/// on link-local IPv6, then RoCE v1. Among equals, and on InfiniBand, it takes the lowest index.
GidChoice choose_gid(std::span<const Gid> table, LinkLayer layer, int wanted);

/// Empty when the kinds allow a queue pair at `here` to talk to one at `there`; otherwise why not
/// and which setting would help. It does not tell whether there is a cable or a route.
std::string why_no_path(const Gid& here, const Gid& there);

}  // namespace rondo::verbs
