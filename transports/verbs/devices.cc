// Which ports rondo uses, and why not the others, from what discovery saw.
#include "transports/verbs/devices.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace rondo::verbs {
namespace {

std::string why_not_active(const Port& port) {
  switch (port.state) {
    case PortState::active:
      return {};
    case PortState::down:
      return port.layer == LinkLayer::ethernet
                 ? "it is down: look at the cable and at `ip link` of the network device below it"
                 : "it is down: look at the cable and the switch's port";
    case PortState::initialize:
    case PortState::armed:
      return "it has a link, but no subnet manager (opensm) has made it active";
    case PortState::active_defer:
      return "its link failed a moment ago and may come back";
    case PortState::nop:
      break;
  }
  return "it does not say its state";
}

std::string why_excluded(const Port& port, const HcaSelection& hcas) {
  if (hcas.allows(port.device, port.port)) return {};
  return "RONDO_IB_HCA=" + hcas.text() + " leaves it out";
}

std::string why_wrong_kind(const Port& port) {
  if (!port.infiniband_transport)
    return "it does not speak InfiniBand's transport (iWARP, EFA or usNIC), which rondo needs";
  if (port.layer == LinkLayer::unknown) return "it is neither InfiniBand nor Ethernet";
  return {};
}

std::string why_no_address(const Port& port, const Settings& settings) {
  if (port.layer == LinkLayer::infiniband && port.lid == 0)
    return "it has no LID: is a subnet manager (opensm) at work on this network?";
  const GidChoice choice = choose_gid(port.gids, port.layer, settings.gid_index);
  return choice.found ? std::string() : choice.reason;
}

std::string why_no_partition(const Port& port, const Settings& settings) {
  if (settings.pkey_index < port.pkeys) return {};
  return "RONDO_IB_PKEY=" + std::to_string(settings.pkey_index) +
         ", but the last index of its table of " + "partition keys is " +
         std::to_string(port.pkeys - 1);
}

std::string title(const Port& port) {
  return port.device + (port.port == 0 ? "" : " port " + std::to_string(port.port));
}

}  // namespace

std::string_view name(PortState state) {
  constexpr std::array<std::string_view, 6> names{"unknown", "down",   "initialize",
                                                  "armed",   "active", "active_defer"};
  const auto at = static_cast<std::size_t>(state);
  return at < names.size() ? names[at] : names[0];
}

std::string why_not(const Port& port, const Settings& settings) {
  if (settings.disabled) return "RONDO_IB_DISABLE=1";
  if (auto why = why_excluded(port, settings.hcas); !why.empty()) return why;
  if (!port.trouble.empty()) return port.trouble;
  if (auto why = why_wrong_kind(port); !why.empty()) return why;
  if (auto why = why_not_active(port); !why.empty()) return why;
  if (auto why = why_no_address(port, settings); !why.empty()) return why;
  return why_no_partition(port, settings);
}

bool is_near(const Port& port, const Settings& settings) {
  return settings.numa_node >= 0 && port.numa_node == settings.numa_node;
}

std::vector<Port> usable_ports(const std::vector<Port>& ports, const Settings& settings) {
  std::vector<Port> usable;
  std::copy_if(ports.begin(), ports.end(), std::back_inserter(usable),
               [&](const Port& port) { return why_not(port, settings).empty(); });
  std::ranges::sort(usable, {}, [&](const Port& port) {
    return std::tuple(-port.speed, !is_near(port, settings), std::string_view(port.device),
                      port.port);
  });
  return usable;
}

std::vector<Port> usable_ports(const Settings& settings) {
  return settings.disabled ? std::vector<Port>() : usable_ports(discover().ports, settings);
}

std::string why_none(const Discovery& discovery, const Settings& settings) {
  if (settings.disabled) return "RONDO_IB_DISABLE=1";
  if (!discovery.obstacle.empty()) return discovery.obstacle;
  std::string text;
  for (const Port& port : discovery.ports) {
    const std::string why = why_not(port, settings);
    if (why.empty()) return {};
    text += (text.empty() ? "" : "; ") + title(port) + ": " + why;
  }
  return text;
}

rondo::Port in_topology(const Port& port) {
  constexpr double bytes_a_second = 1e9 / 8;  // at 1 Gbit/s
  return {.name = port.device + ":" + std::to_string(port.port),
          .rdma = true,
          .beta = port.speed > 0 ? 1 / (port.speed * bytes_a_second) : 0,
          .socket = port.numa_node};
}

}  // namespace rondo::verbs
