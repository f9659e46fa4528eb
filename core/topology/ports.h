// The ports that ranks tell each other of as they connect.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/topology/topology.h"

namespace rondo {

/// "eth0=8e-11;mlx5_0:1=0": names and seconds a byte, to the last digit.
std::string to_text(std::span<const Port> ports);

/// The number, among its host's, of the port that a rank has told first: its own. 0 if it told none.
int own_port(std::string_view text, const Host& host);

/// Adds those that other ranks of the host have not told yet. What is no port is left out.
void add_ports(std::string_view text, Host& host);

}  // namespace rondo
