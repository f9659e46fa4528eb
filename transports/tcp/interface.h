// Which of this machine's addresses peers are told to connect to.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::tcp {

/// One address of one network interface that is up.
struct InterfaceAddress {
  std::string interface {};
  std::string address{};  ///< numeric; IPv6 without a scope
  bool version_6 = false;
};

/// This machine's, in the kernel's order, without link-local IPv6. Throws Error{system}.
std::vector<InterfaceAddress> interface_addresses();

/// The address to listen on. `selection` is NCCL_SOCKET_IFNAME's syntax: "eth,ib" allows names with
/// these prefixes, "=eth0" that name only, "^docker,lo" all but these. Empty: the best of any other
/// interface, docker's and virtual bridges', loopback. IPv4 before IPv6 within an interface. Throws
/// Error{configuration} that lists what there is.
InterfaceAddress choose_interface(std::span<const InterfaceAddress> addresses,
                                  std::string_view selection);

}  // namespace rondo::tcp
