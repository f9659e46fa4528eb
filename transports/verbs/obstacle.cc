// Which hosts the transport reaches. In every build, since a peer may have what this rank lacks.
#include "transports/verbs/devices.h"
#include "transports/verbs/reach.h"
#include "transports/verbs/verbs.h"

namespace rondo::verbs {
namespace {

std::string lacks(const HostInfo& host) {
  return host.hostname + " has no RDMA port to use (" + host.no_rdma + ")";
}

}  // namespace

std::string obstacle(const HostInfo& from, const HostInfo& to) {
  if (from.rdma.empty()) return lacks(from);
  if (to.rdma.empty()) return lacks(to);
  return why_apart(parse_ports(from.rdma), parse_ports(to.rdma));
}

void describe(HostInfo& host, const InfinibandConfig& config) {
  const Settings settings = make_settings(config);
  const Discovery found = settings.disabled ? Discovery() : discover();
  host.rdma = to_text(name_ports(usable_ports(found.ports, settings), settings));
  if (host.rdma.empty()) host.no_rdma = why_none(found, settings);
}

}  // namespace rondo::verbs
