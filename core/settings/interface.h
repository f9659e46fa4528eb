// The machine's network addresses, and which of them others should connect to.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/address_family.h"

namespace rondo {

struct InterfaceAddress {
  std::string name{};     ///< "eth0"
  std::string address{};  ///< numeric; IPv6 link-local ones carry their "%eth0"
  bool is_v6 = false;
  int prefix = 0;           ///< bits of the address that name its network; 0: unknown
  int numa_node = -1;       ///< the nearest one; -1: unknown
  double beta = 0;          ///< seconds a byte, each way; 0: unknown, as that of virtual ones
  bool has_carrier = true;  ///< false: up, but its cable or its network is not there
  friend bool operator==(const InterfaceAddress&, const InterfaceAddress&) = default;
};

/// The addresses of all interfaces that are up. `devices`: the kernel's folder of interfaces.
std::vector<InterfaceAddress> interface_addresses(
    const std::filesystem::path& devices = "/sys/class/net");

/// Best first. `pattern` as RONDO_SOCKET_IFNAME: "eth,ib" are prefixes, "=eth0" exact names,
/// "^docker" excludes; empty: all, real networks first, then virtual bridges, then loopback, and
/// whatever has no carrier after all of them. IPv4 before IPv6 on one interface. Throws
/// Error{configuration} listing what is there when nothing fits.
std::vector<InterfaceAddress> choose_interfaces(std::string_view pattern, AddressFamily family,
                                                std::span<const InterfaceAddress> present);

/// The address that other ranks should connect to: the best one of this machine. Throws as above.
std::string own_address(std::string_view pattern, AddressFamily family);

/// The addresses at which a rank listens, best first. Empty `pattern`: one. Else one of each
/// interface that fits, as far as it is of the same kind as the first: they are the host's ports, and
/// its ranks take turns. `index`: the rank's number on its host. Ports near `numa_node` come first.
std::vector<InterfaceAddress> ports_in_turn(std::string_view pattern, AddressFamily family,
                                            std::span<const InterfaceAddress> present, int index,
                                            int numa_node);

/// An address that another rank gave, for use on the rank whose own address is `here`. A link-local
/// address ends in '%' and its machine's name for the link. That name is replaced by this
/// machine's, which `here` has.
std::string as_seen_from(const std::string& here, const std::string& address);

}  // namespace rondo
