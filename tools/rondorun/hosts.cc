#include "tools/rondorun/hosts.h"

#include <unistd.h>

#include <array>
#include <charconv>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {
namespace {

LaunchError bad_host(std::string_view entry, const std::string& why) {
  return {status_usage, "--hosts: '" + std::string(entry) + "' " + why +
                            "; write NAME:RANKS, for example --hosts node1:4,node2:4"};
}

int parse_count(std::string_view entry, std::string_view digits) {
  int count = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, count);
  if (problem != std::errc() || stop != end || count < 1)
    throw bad_host(entry, "has no number of ranks of at least 1 after the colon");
  return count;
}

/// Where the colon before the count stands; a bracketed IPv6 address has colons of its own.
std::size_t count_colon(std::string_view entry) {
  const auto bracket = entry.rfind(']');
  return entry.find(':', bracket == std::string_view::npos ? 0 : bracket);
}

Host parse_host(std::string_view entry) {
  const auto colon = count_colon(entry);
  Host host{std::string(entry.substr(0, colon))};
  if (host.name.empty()) throw bad_host(entry, "has no name");
  if (host.name.front() == '-') throw bad_host(entry, "begins with a dash");
  if (host.name.find_first_of(" \t'\"") != std::string::npos)
    throw bad_host(entry, "has a blank or a quote in its name");
  if (colon != std::string_view::npos) host.ranks = parse_count(entry, entry.substr(colon + 1));
  return host;
}

}  // namespace

std::vector<Host> parse_hosts(std::string_view text) {
  std::vector<Host> hosts;
  while (true) {
    const auto comma = text.find(',');
    hosts.push_back(parse_host(text.substr(0, comma)));
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

std::vector<Host> limit_hosts(std::vector<Host> hosts, int ranks) {
  int left = ranks;
  for (Host& host : hosts) {
    host.ranks = std::min(host.ranks, left);
    left -= host.ranks;
  }
  if (left > 0)
    throw LaunchError(status_usage, "-n " + std::to_string(ranks) + ": --hosts offers only " +
                                        std::to_string(ranks - left) + " ranks");
  std::erase_if(hosts, [](const Host& host) { return host.ranks == 0; });
  return hosts;
}

std::string address_of(const Host& host) {
  std::string address = host.name.substr(host.name.find('@') + 1);
  if (address.size() > 2 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  return address;
}

bool is_this_machine(const Host& host) {
  const std::string own = this_machine();
  return host.name == "localhost" || host.name == own || host.name == own.substr(0, own.find('.'));
}

std::string this_machine() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace rondo::launch
