#include "core/base/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "core/base/text.h"
#include "rondo/error.h"

namespace rondo {
namespace {

bool is_virtual(std::string_view name) {
  constexpr std::array<std::string_view, 5> prefixes{"docker", "virbr", "veth", "br-", "cni"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Real networks, virtual bridges, loopback; IPv6 that only the link knows last within each. Behind
/// them the same without carrier: nobody is reached over those, but this machine itself.
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

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
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
                     .has_carrier = (entry->ifa_flags & IFF_RUNNING) != 0});
  }
  return found;
}

std::vector<InterfaceAddress> choose_interfaces(std::string_view pattern,
                                                std::span<const InterfaceAddress> present) {
  std::vector<InterfaceAddress> chosen;
  std::copy_if(present.begin(), present.end(), std::back_inserter(chosen),
               [&](const InterfaceAddress& address) { return fits(pattern, address.name); });
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto& a, const auto& b) { return distance(a) < distance(b); });
  if (!chosen.empty()) return chosen;
  std::string names;
  for (const auto& address : present) {
    names += (names.empty() ? "" : ", ") + address.name + " (" + address.address + ")";
  }
  throw Error(ErrorCode::configuration,
              "no network interface fits RONDO_SOCKET_IFNAME=" + std::string(pattern),
              {.remedy = names.empty() ? "bring an interface up"
                                       : "choose among the interfaces here: " + names});
}

}  // namespace rondo
