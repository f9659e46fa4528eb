#include "transports/verbs/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <tuple>

#include "core/settings/settings.h"

namespace rondo::verbs {
namespace {

/// Less is better; see choose_gid() in the header.
std::tuple<bool, GidFamily, int> order(const Gid& gid) {
  return {gid.kind == GidKind::roce_v1, family(gid), gid.index};
}

std::string indices(std::span<const Gid> table) {
  std::string text;
  for (const Gid& gid : table) text += (text.empty() ? "" : ", ") + std::to_string(gid.index);
  return text;
}

GidChoice take_wanted(std::span<const Gid> table, int wanted) {
  const auto found = std::ranges::find(table, wanted, &Gid::index);
  const std::string setting = name_as_set("RONDO_IB_GID_INDEX") + "=" + std::to_string(wanted);
  if (found != table.end()) return {true, *found, setting + " asks for it"};
  return {.reason = setting + ", but that entry of the port's table is empty or beyond its end; " +
                    "there are: " + indices(table)};
}

std::string why_this(const Gid& gid) {
  if (gid.kind == GidKind::infiniband) return "the port's first GID";
  if (gid.kind == GidKind::roce_v1) return "there is only RoCE v1, which no router passes on";
  switch (family(gid)) {
    case GidFamily::ipv4:
      return "the first RoCE v2 address on IPv4";
    case GidFamily::ipv6:
      return "the first RoCE v2 address on IPv6; there is none on IPv4";
    case GidFamily::ipv6_link_local:
      break;
  }
  return "there are only link-local addresses, which reach no further than one network";
}

std::string spelled(const Gid& gid) {
  return std::string(name(gid.kind)) + " " + to_text(gid) + " (GID index " +
         std::to_string(gid.index) + ")";
}

}  // namespace

std::string_view name(LinkLayer layer) {
  switch (layer) {
    case LinkLayer::infiniband:
      return "InfiniBand";
    case LinkLayer::ethernet:
      return "Ethernet";
    case LinkLayer::unknown:
      break;
  }
  return "unknown link layer";
}

std::string_view name(GidKind kind) {
  switch (kind) {
    case GidKind::roce_v1:
      return "RoCE v1";
    case GidKind::roce_v2:
      return "RoCE v2";
    case GidKind::infiniband:
      break;
  }
  return "InfiniBand";
}

GidFamily family(const Gid& gid) {
  constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(mapped.begin(), mapped.end(), gid.bytes.begin())) return GidFamily::ipv4;
  const bool link_local = gid.bytes[0] == 0xfe && (gid.bytes[1] & 0xc0) == 0x80;
  return link_local ? GidFamily::ipv6_link_local : GidFamily::ipv6;
}

std::uint64_t subnet_prefix(const Gid& gid) {
  std::uint64_t prefix = 0;
  for (std::size_t i = 0; i < 8; ++i) prefix = prefix << 8 | gid.bytes[i];
  return prefix;
}

std::string to_text(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool v4 = gid.kind != GidKind::infiniband && family(gid) == GidFamily::ipv4;
  ::inet_ntop(v4 ? AF_INET : AF_INET6, gid.bytes.data() + (v4 ? 12 : 0), text.data(), text.size());
  return text.data();
}

GidChoice choose_gid(std::span<const Gid> table, LinkLayer layer, int wanted) {
  if (table.empty()) {
    return {.reason = layer == LinkLayer::ethernet
                          ? "it has no GID: give the network device below it an IP address"
                          : "its table of GIDs is empty"};
  }
  if (wanted >= 0) return take_wanted(table, wanted);
  const auto best = std::ranges::min_element(table, {}, order);
  return {true, *best, why_this(*best)};
}

std::string why_no_path(const Gid& here, const Gid& there) {
  const bool v4 = family(here) == GidFamily::ipv4;
  const bool alike = v4 == (family(there) == GidFamily::ipv4);
  if (here.kind == there.kind && (alike || here.kind == GidKind::infiniband)) return {};
  const std::string pair = spelled(here) + " here and " + spelled(there) + " there";
  if ((here.kind == GidKind::infiniband) != (there.kind == GidKind::infiniband))
    return pair + ": InfiniBand and Ethernet ports cannot reach each other; choose ports of one " +
           "kind with RONDO_IB_HCA";
  return pair +
         (here.kind == there.kind ? ": IPv4 and IPv6 addresses cannot reach each other"
                                  : ": RoCE v1 and RoCE v2 cannot reach each other") +
         "; set RONDO_IB_GID_INDEX on each host to an entry of the same kind (`rondo rdma` lists " +
         "them)";
}

}  // namespace rondo::verbs
