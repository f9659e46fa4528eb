#include "transports/tcp/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "rondo/error.h"

namespace rondo::tcp {
namespace {

struct Pattern {
  bool excluding = false;
  bool exact = false;
  std::vector<std::string_view> names{};
};

Pattern parse(std::string_view text) {
  Pattern pattern;
  pattern.excluding = text.starts_with('^');
  if (pattern.excluding) text.remove_prefix(1);
  pattern.exact = text.starts_with('=');
  if (pattern.exact) text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) pattern.names.push_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return pattern;
}

bool matches(const Pattern& pattern, std::string_view interface) {
  const bool named = std::ranges::any_of(pattern.names, [&](std::string_view name) {
    return pattern.exact ? interface == name : interface.starts_with(name);
  });
  return named != pattern.excluding;
}

// Lower is better.
int distance(std::string_view interface) {
  if (interface == "lo") return 2;
  if (interface.starts_with("docker") || interface.starts_with("virbr")) return 1;
  return 0;
}

std::optional<InterfaceAddress> read_address(const ifaddrs& entry) {
  constexpr unsigned usable = IFF_UP | IFF_RUNNING;
  if (entry.ifa_addr == nullptr || (entry.ifa_flags & usable) != usable) return std::nullopt;
  const int family = entry.ifa_addr->sa_family;
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  const void* source = nullptr;
  if (family == AF_INET) {
    source = &reinterpret_cast<const sockaddr_in*>(entry.ifa_addr)->sin_addr;
  } else {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&address)) return std::nullopt;
    source = &address;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_ntop(family, source, text.data(), text.size()) == nullptr) return std::nullopt;
  return InterfaceAddress{entry.ifa_name, text.data(), family == AF_INET6};
}

std::string list(std::span<const InterfaceAddress> addresses) {
  std::string text;
  for (const InterfaceAddress& address : addresses) {
    if (!text.empty()) text += ", ";
    text += address.interface + " (" + address.address + ")";
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    throw Error(ErrorCode::system, "cannot list network interfaces");
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (auto address = read_address(*entry)) addresses.push_back(std::move(*address));
  }
  return addresses;
}

InterfaceAddress choose_interface(std::span<const InterfaceAddress> addresses,
                                  std::string_view selection) {
  const Pattern pattern = parse(selection);
  std::vector<InterfaceAddress> allowed;
  std::ranges::copy_if(addresses, std::back_inserter(allowed),
                       [&](const InterfaceAddress& address) {
                         return pattern.names.empty() || matches(pattern, address.interface);
                       });
  if (allowed.empty()) {
    throw Error(ErrorCode::configuration,
                "no network interface that is up matches '" + std::string(selection) +
                    "'; there are: " + list(addresses),
                {.remedy = "another RONDO_SOCKET_IFNAME"});
  }
  // What was asked for by name is taken in the kernel's order.
  const bool automatic = pattern.names.empty() || pattern.excluding;
  std::ranges::stable_sort(allowed, {}, [&](const InterfaceAddress& address) {
    return std::pair(automatic ? distance(address.interface) : 0, address.version_6);
  });
  return allowed.front();
}

}  // namespace rondo::tcp
