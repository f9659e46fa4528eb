#include "core/settings/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/base/text.h"

namespace rondo {
namespace {

/// One of the names, whatever the case of its letters.
template <class Value>
std::string read_named(const std::string& value, Value& into, std::string_view refusal,
                       std::initializer_list<std::pair<std::string_view, Value>> names) {
  const std::string lower = lower_case(value);
  for (const auto& [name, meaning] : names) {
    if (name != lower) continue;
    into = meaning;
    return {};
  }
  return std::string(refusal);
}

}  // namespace

std::string read_value(const std::string& value, std::string& into) {
  into = value;
  return {};
}

std::string read_value(const std::string& value, std::chrono::milliseconds& into) {
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

std::string read_value(const std::string& value, MeasuredCosts& into) {
  MeasuredCosts costs;
  for (const std::string& part : split(value, ',')) {
    const std::size_t mark = std::min(part.find('='), part.size());
    const std::string_view name = std::string_view(part).substr(0, mark);
    const auto row = std::ranges::find(
        measured_cost_names, name, &std::pair<std::string_view, double MeasuredCosts::*>::first);
    if (row == measured_cost_names.end()) {
      std::string known;
      for (const auto& each : measured_cost_names)
        known += (known.empty() ? "" : ", ") + std::string(each.first);
      return "has \"" + part + "\", which sets none of " + known;
    }
    double& cost = costs.*row->second;
    const char* const end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(std::min(part.data() + mark + 1, end), end, cost);
    // The slowest: a byte a second. Up to a second a message.
    const bool is_cost = error == std::errc{} && stop == end && cost > 0 && cost <= 1;
    if (!is_cost)
      return "has \"" + part + "\", which is not " + std::string(name) +
             "= and seconds above 0, at most 1, such as 8e-11";
  }
  into = costs;
  return {};
}

std::string read_costs(const std::string& value, std::string& into) {
  MeasuredCosts costs;
  std::string refusal = read_value(value, costs);
  if (refusal.empty()) into = value;
  return refusal;
}

MeasuredCosts costs_of(const std::string& text) {
  MeasuredCosts costs;
  static_cast<void>(read_value(text, costs));
  return costs;
}

std::string read_value(const std::string& value, bool& into) {
  const auto number = parse_number(value);
  if (number != 0 && number != 1) return "is neither 0 nor 1";
  into = number == 1;
  return {};
}

std::string read_value(const std::string& value, std::optional<bool>& into) {
  bool flag = false;
  std::string refusal = read_value(value, flag);
  if (refusal.empty()) into = flag;
  return refusal;
}

std::string read_value(const std::string& value, LogLevel& into) {
  return read_named(value, into, "is none of NONE, VERSION, WARN, INFO, TRACE",
                    {{"none", LogLevel::none},
                     {"version", LogLevel::warn},
                     {"warn", LogLevel::warn},
                     {"abort", LogLevel::warn},
                     {"info", LogLevel::info},
                     {"trace", LogLevel::trace}});
}

std::string read_value(const std::string& value, DeviceExecutor& into) {
  return read_named(value, into, "is none of auto, resident, finite",
                    {{"auto", DeviceExecutor::automatic},
                     {"resident", DeviceExecutor::resident},
                     {"finite", DeviceExecutor::finite}});
}

std::string read_value(const std::string& value, AddressFamily& into) {
  return read_named(value, into, "is neither AF_INET nor AF_INET6",
                    {{"af_inet", AddressFamily::v4}, {"af_inet6", AddressFamily::v6}});
}

std::string read_denial(const std::string& value, bool& into) {
  bool denied = !into;
  std::string refusal = read_value(value, denied);
  into = !denied;
  return refusal;
}

std::string read_cumem(const std::string& value, bool& into) {
  return read_named(value, into, "is none of -2, 0, 1", {{"-2", true}, {"0", false}, {"1", true}});
}

std::string read_value(const std::string& value, Secret& into) {
  constexpr std::size_t least = 16;
  if (value.size() < least) return "is shorter than " + std::to_string(least) + " characters";
  into = secret_from(value);
  return {};
}

std::string read_secret_file(const std::string& path, Secret& into) {
  constexpr std::streamsize most = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(most) + 1, '\0');
  file.read(text.data(), most + 1);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.gcount() > most) return "names a file of more than 1 MiB";
  if (!file.is_open() || !file.eof()) return "names a file that cannot be read";
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  text.resize(last == std::string::npos ? 0 : last + 1);
  const std::string refusal = read_value(text, into);
  return refusal.empty() ? refusal : "names a file whose text " + refusal;
}

std::string read_distance(const std::string& value, bool& into) {
  return read_named(value, into, "is neither LOC nor SYS",
                    {{"loc", false}, {"0", false}, {"sys", true}, {"4", true}, {"5", true}});
}

std::string read_accumulation(const std::string& value, bool& wide) {
  return read_named(value, wide, "is neither type nor wide", {{"type", false}, {"wide", true}});
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

}  // namespace rondo
