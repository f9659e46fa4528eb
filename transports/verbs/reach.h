// Which ports a rank can use, as a text that peers read, and whether two ranks' ports can talk.
// Needs no libibverbs: every build can find out what stands in the way.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transports/verbs/addresses.h"

namespace rondo::verbs {

struct Port;
struct Settings;

/// One port and the address that it is used by. Value type.
struct PortName {
  std::string device{};
  int port = 0;
  Gid gid{};
  friend bool operator==(const PortName&, const PortName&) = default;
};

/// Usable ports with their chosen GIDs.
std::vector<PortName> name_ports(std::span<const Port> usable, const Settings& settings);

/// "mlx5_0/1/2/<32 hexadecimal digits>;...": device, port, GidKind, GID.
std::string to_text(std::span<const PortName> ports);
/// Throws Error{bootstrap} for text that to_text() does not make.
std::vector<PortName> parse_ports(std::string_view text);

/// Likely the same subnet: the first 24 bits of an IPv4 address, 64 bits of any other.
bool are_near(const Gid& here, const Gid& there);
/// Which of `mine` to use to reach `theirs`: from index `turn` on (modulo their count) the first
/// that is near one of them, else the first that has a path. -1: none.
int choose_port(std::span<const PortName> mine, std::span<const PortName> theirs, int turn);
/// Empty when choose_port() finds one; otherwise why not.
std::string why_apart(std::span<const PortName> mine, std::span<const PortName> theirs);

}  // namespace rondo::verbs
