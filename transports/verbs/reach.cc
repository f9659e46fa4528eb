#include "transports/verbs/reach.h"

#include <algorithm>
#include <array>

#include "core/base/environment.h"
#include "core/base/text.h"
#include "rondo/error.h"
#include "transports/verbs/devices.h"
#include "transports/verbs/verbs.h"

namespace rondo::verbs {
namespace {

constexpr std::string_view hexadecimal = "0123456789abcdef";
constexpr int kinds = 3;

[[noreturn]] void throw_malformed(std::string_view text) {
  throw Error(ErrorCode::bootstrap,
              "a rank's list of RDMA ports is malformed: '" + std::string(text) + "'",
              {.remedy = "use the same version of rondo on every rank"});
}

int parse_number(std::string_view digits, int most, std::string_view whole) {
  const auto number = parse_integer(digits).value_or(-1);
  if (number < 0 || number > most) throw_malformed(whole);
  return static_cast<int>(number);
}

std::array<std::uint8_t, 16> parse_bytes(std::string_view digits, std::string_view whole) {
  std::array<std::uint8_t, 16> bytes{};
  if (digits.size() != 2 * bytes.size()) throw_malformed(whole);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t value = hexadecimal.find(digits[i]);
    if (value == std::string_view::npos) throw_malformed(whole);
    bytes[i / 2] = static_cast<std::uint8_t>(bytes[i / 2] << 4 | value);
  }
  return bytes;
}

PortName parse_name(std::string_view text) {
  const std::string_view whole = text;
  PortName port{.device = std::string(take_part(text, '/'))};
  port.port = parse_number(take_part(text, '/'), 255, whole);
  port.gid.kind = static_cast<GidKind>(parse_number(take_part(text, '/'), kinds - 1, whole));
  port.gid.bytes = parse_bytes(text, whole);
  return port;
}

std::string title(const PortName& port) {
  return port.device + " port " + std::to_string(port.port) + " (" + to_text(port.gid) + ")";
}

std::string lacks(const HostInfo& host) {
  return host.hostname + " has no RDMA port to use (" + host.no_rdma + ")";
}

}  // namespace

std::vector<PortName> name_ports(std::span<const Port> usable, const Settings& settings) {
  std::vector<PortName> ports;
  for (const Port& port : usable) {
    ports.push_back(
        {port.device, port.port, choose_gid(port.gids, port.layer, settings.gid_index).gid});
  }
  return ports;
}

std::string to_text(std::span<const PortName> ports) {
  std::string text;
  for (const PortName& port : ports) {
    if (!text.empty()) text += ';';
    text += port.device + '/' + std::to_string(port.port) + '/' +
            std::to_string(static_cast<int>(port.gid.kind)) + '/';
    for (const std::uint8_t byte : port.gid.bytes) {
      text += hexadecimal[byte >> 4];
      text += hexadecimal[byte & 15];
    }
  }
  return text;
}

std::vector<PortName> parse_ports(std::string_view text) {
  std::vector<PortName> ports;
  while (!text.empty()) ports.push_back(parse_name(take_part(text, ';')));
  return ports;
}

bool are_near(const Gid& here, const Gid& there) {
  if (!why_no_path(here, there).empty()) return false;
  const std::size_t same = family(here) == GidFamily::ipv4 ? 15 : 8;
  return std::equal(here.bytes.begin(), here.bytes.begin() + same, there.bytes.begin());
}

int choose_port(std::span<const PortName> mine, std::span<const PortName> theirs, int turn) {
  const auto first = [&](auto reaches) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const std::size_t at = (static_cast<std::size_t>(turn) + i) % mine.size();
      const auto suits = [&](const PortName& port) { return reaches(mine[at].gid, port.gid); };
      if (std::ranges::any_of(theirs, suits)) return static_cast<int>(at);
    }
    return -1;
  };
  const int near = first(are_near);
  if (near >= 0) return near;
  return first([](const Gid& here, const Gid& there) { return why_no_path(here, there).empty(); });
}

std::string why_apart(std::span<const PortName> mine, std::span<const PortName> theirs) {
  if (mine.empty() || theirs.empty()) return "no RDMA port";
  if (choose_port(mine, theirs, 0) >= 0) return {};
  return title(mine[0]) + " and " + title(theirs[0]) + ": " +
         why_no_path(mine[0].gid, theirs[0].gid);
}

// Which hosts the transport reaches is known in every build, since a peer may have what this rank
// lacks.
std::string obstacle(const HostInfo& from, const HostInfo& to) {
  if (from.rdma.empty()) return lacks(from);
  if (to.rdma.empty()) return lacks(to);
  return why_apart(parse_ports(from.rdma), parse_ports(to.rdma));
}

void describe(HostInfo& host, const InfinibandConfig& config) {
  const Settings settings = make_settings(config);
  const Discovery found = settings.disabled ? Discovery() : discover();
  host.rdma = to_text(name_ports(usable_ports(found.ports, settings), settings));
  if (host.rdma.empty()) host.no_rdma = why_none(found, settings);
}

}  // namespace rondo::verbs
