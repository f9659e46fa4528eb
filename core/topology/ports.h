// The ports that ranks tell each other of.
#pragma once

#include <span>

#include "core/topology/topology.h"

namespace rondo {

/// What a rank tells the others of a port: its name and its speed.
template <class Archive>
void fields_of(const Port& port, Archive& archive) {
  archive(port.name, port.beta);
}
template <class Archive>
void fields_of(Port& port, Archive& archive) {
  archive(port.name, port.beta);
}

/// Adds the ports of a rank to those of its host, each name once. Ports that no rank can mean are
/// left out.
void add_ports(std::span<const Port> ports, Host& host);
/// Which of its host's ports a rank uses: the first that it named. 0 where it named none.
int own_port(std::span<const Port> ports, const Host& host);

}  // namespace rondo
