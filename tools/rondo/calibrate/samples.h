// Samples: what the ranks timed of one link, by size, trial and round; and the constants that
// follow, from all rounds or from a single one.
//
// A machine's speed may double or halve within a second, so a call is held against constants of its
// own round: of a few milliseconds before and after it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/rondo/calibrate/profile.h"

namespace rondo::tool {

/// The names of trials, beside those of what is checked.
namespace trial {
inline constexpr const char* smallest = "8 bytes to and fro";
inline constexpr const char* to_and_fro = "to and fro";
inline constexpr const char* gather = "all_gather";
inline constexpr const char* scatter = "reduce_scatter";
inline constexpr const char* meeting = "direct, smallest";
inline constexpr const char* fetch = "direct all_gather";
inline constexpr const char* fetch_combining = "direct reduce_scatter";
}  // namespace trial

/// Of one size.
struct Samples {
  double bytes = 0;
  /// By trial, a sample a round: seconds of a call, the slowest rank's.
  std::map<std::string, std::vector<double>> seconds{};
  /// By checked algorithm, a sample a round: which part of a call's payload moved directly.
  std::map<std::string, std::vector<double>> direct{};

  /// Of a trial that is there already: the mean of both in each round.
  void add(const std::string& trial, const std::vector<double>& rounds);
};

nlohmann::ordered_json to_json(const Samples& samples);
Samples samples_from_json(const nlohmann::ordered_json& json);

/// `which`: the link, without constants. Medians and quartiles over all rounds, or what one round
/// says.
LinkProfile constants_of(const LinkProfile& which, std::span<const Samples> sizes,
                         std::optional<std::size_t> round = {});

}  // namespace rondo::tool
