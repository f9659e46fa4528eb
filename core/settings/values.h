// How the values of settings are written. Each function returns why it refused a value; empty:
// taken.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/config.h"
#include "core/base/environment.h"

namespace rondo {

std::string read_value(const std::string& value, std::string& into);
std::string read_value(const std::string& value, std::chrono::milliseconds& into);  ///< seconds
std::string read_value(const std::string& value, bool& into);
std::string read_value(const std::string& value, std::optional<bool>& into);
std::string read_value(const std::string& value, LogLevel& into);
std::string read_value(const std::string& value, DeviceExecutor& into);
std::string read_value(const std::string& value, AddressFamily& into);

std::string read_bytes(const std::string& value, std::size_t& into);

/// Seconds a message (alpha), a byte (beta) and a reduced byte (gamma). 0: not measured.
struct MeasuredCosts {
  double memory_alpha = 0;  ///< between ranks of one host
  double memory_beta = 0;
  double network_alpha = 0;  ///< between hosts
  double network_beta = 0;   ///< of one port
  double gamma = 0;
};
/// As RONDO_LINK_COSTS names them.
inline constexpr std::array<std::pair<std::string_view, double MeasuredCosts::*>, 5>
    measured_cost_names{{{"memory_alpha", &MeasuredCosts::memory_alpha},
                         {"memory_beta", &MeasuredCosts::memory_beta},
                         {"network_alpha", &MeasuredCosts::network_alpha},
                         {"network_beta", &MeasuredCosts::network_beta},
                         {"gamma", &MeasuredCosts::gamma}}};
std::string read_value(const std::string& value, MeasuredCosts& into);
/// Takes the text as it is, if its costs can be read.
std::string read_costs(const std::string& value, std::string& into);
/// Of such a text.
MeasuredCosts costs_of(const std::string& text);

/// Of the job, from any text of at least 16 characters.
std::string read_value(const std::string& value, Secret& into);
/// The same from a file; white space at its end does not count.
std::string read_secret_file(const std::string& path, Secret& into);

/// A flag that says no.
std::string read_denial(const std::string& value, bool& into);
/// -2 is NCCL's way to say "where it can be".
std::string read_cumem(const std::string& value, bool& into);
/// By NCCL's names of distances, or its older numbers: LOC (0) is none, SYS (4, 5) is any. rondo
/// does not know the distances between them, and refuses those names.
std::string read_distance(const std::string& value, bool& into);
std::string read_accumulation(const std::string& value, bool& wide);
/// NCCL's names, all but them after a '^'.
std::string read_subsystems(const std::string& value, LogSubsystems& into);

/// A whole number in [least, most].
template <class Integer>
std::string read_integer(const std::string& value, long long least, long long most, Integer& into) {
  const auto number = parse_number(value);
  if (!number || *number < least || *number > most) {
    return "is not a whole number between " + std::to_string(least) + " and " +
           std::to_string(most);
  }
  into = static_cast<Integer>(*number);
  return {};
}

}  // namespace rondo
