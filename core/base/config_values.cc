#include "core/base/config_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/base/text.h"

namespace rondo {

std::string read_seconds(const std::string& value, std::chrono::milliseconds& into) {
  double seconds = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, seconds);
  if (error != std::errc{} || stop != end || !std::isfinite(seconds)) return "is not a number";
  if (seconds < 0.001 || seconds > 1e8) return "is not between 0.001 and 100000000";
  into = std::chrono::milliseconds(std::llround(seconds * 1000));
  return {};
}

std::string read_bytes(const std::string& value, std::size_t& into) {
  const auto digits = std::min(value.find_first_not_of("0123456789"), value.size());
  const auto number = parse_integer(std::string_view(value).substr(0, digits));
  auto unit = lower_case(std::string_view(value).substr(digits));
  if (unit.ends_with("ib")) unit.resize(unit.size() - 2);
  constexpr std::array<std::string_view, 4> units{"", "k", "m", "g"};
  const auto found = std::find(units.begin(), units.end(), unit);
  if (!number || found == units.end()) return "is not a size such as 65536, 64K or 4M";
  const auto shift = 10 * (found - units.begin());
  if (*number < 1 || *number > (1LL << 40) >> shift) return "is not between 1 and 1024G";
  into = static_cast<std::size_t>(*number) << shift;
  return {};
}

std::string read_or_zero(const std::string& value, long long most, int& into) {
  std::string obstacle = read_integer(value, -1, most, into);
  if (obstacle.empty()) into = std::max(into, 0);
  return obstacle;
}

std::string read_flag(const std::string& value, bool& into) {
  const auto number = parse_number(value);
  if (number != 0 && number != 1) return "is neither 0 nor 1";
  into = number == 1;
  return {};
}

std::string read_flag(const std::string& value, std::optional<bool>& into) {
  bool flag = false;
  std::string obstacle = read_flag(value, flag);
  if (obstacle.empty()) into = flag;
  return obstacle;
}

std::string read_level(const std::string& value, LogLevel& into) {
  constexpr std::array<std::pair<std::string_view, LogLevel>, 6> levels{{
      {"none", LogLevel::none},
      {"version", LogLevel::warn},
      {"warn", LogLevel::warn},
      {"abort", LogLevel::warn},
      {"info", LogLevel::info},
      {"trace", LogLevel::trace},
  }};
  for (const auto& [name, level] : levels) {
    if (name != lower_case(value)) continue;
    into = level;
    return {};
  }
  return "is none of NONE, VERSION, WARN, INFO, TRACE";
}

std::string read_executor(const std::string& value, DeviceExecutor& into) {
  constexpr std::array<std::pair<std::string_view, DeviceExecutor>, 3> executors{{
      {"auto", DeviceExecutor::automatic},
      {"resident", DeviceExecutor::resident},
      {"finite", DeviceExecutor::finite},
  }};
  for (const auto& [name, executor] : executors) {
    if (name != lower_case(value)) continue;
    into = executor;
    return {};
  }
  return "is none of auto, resident, finite";
}

std::string read_cumem(const std::string& value, bool& into) {
  if (value != "-2" && value != "0" && value != "1") return "is none of -2, 0, 1";
  into = value != "0";
  return {};
}

std::string read_distance(const std::string& value, bool& into) {
  const std::string level = lower_case(value);
  const bool any = level == "sys" || level == "4" || level == "5";
  if (!any && level != "loc" && level != "0") return "is neither LOC nor SYS";
  into = any;
  return {};
}

std::string read_family(const std::string& value, AddressFamily& into) {
  if (value != "AF_INET" && value != "AF_INET6") return "is neither AF_INET nor AF_INET6";
  into = value == "AF_INET" ? AddressFamily::v4 : AddressFamily::v6;
  return {};
}

std::string read_subsystems(const std::string& value, LogSubsystems& into) {
  // In the order of LogSubsystem.
  constexpr std::array<std::string_view, 19> names{
      "INIT", "COLL",    "P2P",        "SHM",     "NET",   "GRAPH", "TUNING",
      "ENV",  "ALLOC",   "ALLOC_HOST", "CALL",    "PROXY", "NVLS",  "BOOTSTRAP",
      "REG",  "PROFILE", "RAS",        "DESTROY", "ALL"};
  const bool excludes = value.starts_with('^');
  LogSubsystems named = 0;
  for (const auto& part : split(std::string_view(value).substr(excludes ? 1 : 0), ',')) {
    const auto name =
        std::ranges::find(names, lower_case(part), [](auto each) { return lower_case(each); });
    if (name == names.end()) return "has " + part + ", which is none of " + join(names, ", ");
    named |= bits_of(static_cast<LogSubsystem>(name - names.begin()));
  }
  into = excludes ? bits_of(LogSubsystem::all) & ~named : named;
  return {};
}

std::string read_network(const std::string& value, std::string& into) {
  const std::string name = lower_case(value);
  if (name != "socket" && name != "ib") return "is neither Socket nor IB";
  into = name == "socket" ? "verbs" : "tcp";
  return {};
}

std::string read_accumulation(const std::string& value, bool& wide) {
  if (value != "type" && value != "wide") return "is neither type nor wide";
  wide = value == "wide";
  return {};
}

}  // namespace rondo
