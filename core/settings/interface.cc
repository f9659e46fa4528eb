#include "core/settings/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include "core/base/numa.h"
#include "core/base/text.h"
#include "core/settings/settings.h"
#include "rondo/error.h"

namespace rondo {
namespace {

bool is_virtual(std::string_view name) {
  constexpr std::array<std::string_view, 5> prefixes{"docker", "virbr", "veth", "br-", "cni"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// "eth0" of "eth0" and of its further address "eth0:1".
std::string_view device_of(const InterfaceAddress& address) {
  const std::string_view name = address.name;
  return name.substr(0, name.find(':'));
}

/// The ones of a mask.
int prefix_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  const bool is_v6 = mask->sa_family == AF_INET6;
  std::array<std::uint8_t, sizeof(in6_addr)> bytes{};
  const void* const address =
      is_v6 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr)
            : &reinterpret_cast<const sockaddr_in*>(mask)->sin_addr;
  std::memcpy(bytes.data(), address, is_v6 ? sizeof(in6_addr) : sizeof(in_addr));
  int bits = 0;
  for (const std::uint8_t byte : bytes) bits += std::popcount(byte);
  return bits;
}

/// The kernel has speeds in Mbit/s. That of a virtual interface means nothing, but a bond has its
/// members'.
double beta_of(const std::filesystem::path& interface) {
  std::error_code none;
  int speed = 0;
  if (std::filesystem::exists(interface / "device", none) ||
      std::filesystem::exists(interface / "bonding", none))
    std::ifstream(interface / "speed") >> speed;
  return speed > 0 ? 8 / (speed * 1e6) : 0;
}

/// Order: real networks, virtual bridges, loopback. Within each of them: IPv4, IPv6, link-local
/// IPv6. After all of these the same without carrier: they reach only this machine itself.
int distance(const InterfaceAddress& address) {
  int kind = address.name == "lo" ? 2 : 0;
  if (is_virtual(address.name)) kind = 1;
  const int family = address.address.starts_with("fe80:") ? 2 : address.is_v6 ? 1 : 0;
  const int carrier = address.has_carrier ? 0 : 1;
  return (carrier * 3 + kind) * 3 + family;
}

bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return true;
  const bool excluding = pattern.starts_with('^');
  if (excluding) pattern.remove_prefix(1);
  const bool exact = pattern.starts_with('=');
  if (exact) pattern.remove_prefix(1);
  const auto parts = split(pattern, ',');
  const bool named = std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return exact ? name == part : name.starts_with(part);
  });
  return named != excluding;
}

bool fits(AddressFamily family, const InterfaceAddress& address) {
  return family == AddressFamily::any || (family == AddressFamily::v6) == address.is_v6;
}

/// "eth0 (10.0.0.1), eth0 (fd00::1)".
std::string words(std::span<const InterfaceAddress> addresses) {
  std::string text;
  for (const auto& each : addresses)
    text += (text.empty() ? "" : ", ") + each.name + " (" + each.address + ")";
  return text;
}

/// None of `present` fits both.
Error nothing_fits(std::string_view pattern, AddressFamily family,
                   std::span<const InterfaceAddress> present) {
  if (present.empty())
    return {ErrorCode::configuration,
            "no network interface is up",
            {.remedy = "bring an interface up"}};
  std::vector<InterfaceAddress> others;
  std::ranges::copy_if(present, std::back_inserter(others),
                       [&](const auto& each) { return fits(pattern, each.name); });
  const std::string asked = name_as_set("RONDO_SOCKET_IFNAME") + "=" + std::string(pattern);
  if (others.empty())
    return {ErrorCode::configuration,
            "no network interface fits " + asked,
            {.remedy = "choose among the interfaces here: " + words(present)}};
  const bool v6 = family == AddressFamily::v6;
  const std::string setting = name_as_set("RONDO_SOCKET_FAMILY");
  return {ErrorCode::configuration,
          setting + "=" + (v6 ? "AF_INET6" : "AF_INET") + " asks for " + (v6 ? "IPv6" : "IPv4") +
              ", and no interface " + (pattern.empty() ? "" : "that fits " + asked + " ") +
              "has such an address: " + words(others),
          {.remedy = "unset " + setting +
                     ", give the interface such an address, or choose another one with "
                     "RONDO_SOCKET_IFNAME; here are " +
                     words(present)}};
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses(const std::filesystem::path& devices) {
  ifaddrs* head = nullptr;
  if (::getifaddrs(&head) != 0) {
    throw Error(ErrorCode::system,
                "cannot list the network interfaces: " + std::generic_category().message(errno),
                {.remedy = "raise the limit of open files (ulimit -n) if there are too many"});
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(head, &::freeifaddrs);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* entry = head; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(entry->ifa_addr, static_cast<socklen_t>(length), text.data(), text.size(),
                      nullptr, 0, NI_NUMERICHOST) != 0) {
      continue;
    }
    found.push_back({.name = entry->ifa_name,
                     .address = text.data(),
                     .is_v6 = family == AF_INET6,
                     .prefix = prefix_of(entry->ifa_netmask),
                     .numa_node = device_numa_node(devices / entry->ifa_name / "device"),
                     .beta = beta_of(devices / entry->ifa_name),
                     .has_carrier = (entry->ifa_flags & IFF_RUNNING) != 0});
  }
  return found;
}

std::vector<InterfaceAddress> choose_interfaces(std::string_view pattern, AddressFamily family,
                                                std::span<const InterfaceAddress> present) {
  std::vector<InterfaceAddress> chosen;
  std::copy_if(present.begin(), present.end(), std::back_inserter(chosen),
               [&](const InterfaceAddress& address) {
                 return fits(pattern, address.name) && fits(family, address);
               });
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto& a, const auto& b) { return distance(a) < distance(b); });
  if (!chosen.empty()) return chosen;
  throw nothing_fits(pattern, family, present);
}

std::vector<InterfaceAddress> ports_in_turn(std::string_view pattern, AddressFamily family,
                                            std::span<const InterfaceAddress> present, int index,
                                            int numa_node) {
  std::vector<InterfaceAddress> ports;
  for (const InterfaceAddress& each : choose_interfaces(pattern, family, present)) {
    const bool is_first = ports.empty();
    const bool is_new = std::ranges::none_of(
        ports, [&](const InterfaceAddress& port) { return device_of(port) == device_of(each); });
    // A link-local address says nothing about which links lead to each other.
    const bool several = !pattern.empty() && !each.address.starts_with("fe80:");
    if (is_first || (several && is_new && distance(each) == distance(ports.front())))
      ports.push_back(each);
  }
  const auto begin = ports.begin();
  const auto others = std::stable_partition(begin, ports.end(), [&](const InterfaceAddress& each) {
    return each.numa_node >= 0 && each.numa_node == numa_node;
  });
  const auto end = others == begin ? ports.end() : others;
  std::rotate(begin, begin + index % (end - begin), end);
  return ports;
}

std::string own_address(std::string_view pattern, AddressFamily family) {
  return choose_interfaces(pattern, family, interface_addresses()).front().address;
}

std::string as_seen_from(const std::string& here, const std::string& address) {
  const std::size_t link = address.find('%');
  const std::size_t own_link = here.find('%');
  if (link == std::string::npos || own_link == std::string::npos) return address;
  const auto present = interface_addresses();
  const bool is_here =
      std::ranges::find(present, address, &InterfaceAddress::address) != present.end();
  return is_here ? address : address.substr(0, link) + here.substr(own_link);
}

}  // namespace rondo
