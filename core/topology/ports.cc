#include "core/topology/ports.h"

#include <algorithm>
#include <cmath>

namespace rondo {

int own_port(std::span<const Port> ports, const Host& host) {
  if (ports.empty()) return 0;
  const auto found = std::ranges::find(host.ports, ports.front().name, &Port::name);
  return found == host.ports.end() ? 0 : static_cast<int>(found - host.ports.begin());
}

void add_ports(std::span<const Port> ports, Host& host) {
  for (const Port& port : ports)
    if (!port.name.empty() && std::isfinite(port.beta) && port.beta >= 0 &&
        std::ranges::count(host.ports, port.name, &Port::name) == 0)
      host.ports.push_back({.name = port.name, .beta = port.beta});
}

}  // namespace rondo
