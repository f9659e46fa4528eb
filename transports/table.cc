#include "transports/table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "transports/local/local.h"
#include "transports/shm/shm.h"
#include "transports/tcp/tcp.h"
#include "transports/verbs/verbs.h"

namespace rondo {
namespace {

constexpr std::array kinds{
    TransportKind{"local", "slot rings between threads of one process", local::obstacle,
                  local::make},
    TransportKind{"shm", "slot rings in memory shared by processes of one machine", shm::obstacle,
                  shm::make},
    TransportKind{"verbs", "InfiniBand and RoCE: reliable queue pairs", verbs::obstacle,
                  verbs::make},
    TransportKind{"tcp", "TCP connections, one or more for each pair of ranks", tcp::obstacle,
                  tcp::make},
};

}  // namespace

std::span<const TransportKind> transport_kinds() { return kinds; }

const TransportKind* find_transport(std::string_view name) {
  const auto found = std::ranges::find(kinds, name, &TransportKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

std::vector<std::string_view> transport_names() {
  std::vector<std::string_view> names;
  for (const TransportKind& kind : kinds) names.push_back(kind.name);
  return names;
}

const TransportKind* best_transport(const Selection& selection, const HostInfo& here,
                                    const HostInfo& there, std::string& obstacles) {
  for (const TransportKind& kind : kinds) {
    std::string obstacle =
        selection.allows(kind.name) ? kind.obstacle(here, there) : "not allowed by RONDO_TRANSPORT";
    if (obstacle.empty()) obstacle = kind.obstacle(there, here);
    if (obstacle.empty()) return &kind;
    obstacles += (obstacles.empty() ? "" : "; ") + std::string(kind.name) + ": " + obstacle;
  }
  return nullptr;
}

HostInfo describe_host(const Config& config) {
  HostInfo host = this_host(config.host_id);
  // Looking at devices takes milliseconds each: not where they are not wanted.
  if (Selection(config.transport, transport_names(), "RONDO_TRANSPORT").allows("verbs")) {
    verbs::describe(host, config.infiniband);
  } else {
    host.no_rdma = "not looked for, since RONDO_TRANSPORT=" + config.transport + " is set there";
  }
  return host;
}

}  // namespace rondo
