// Samples: the times that ranks measured on one link, by size, trial and round. From them follow
// constants, from all rounds or from a single one.
//
// The speed of a machine can double or halve within a second. So a call is compared with constants
// of its own round, measured a few milliseconds before and after it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/rondo/calibrate/profile.h"

namespace rondo::tool {

/// The names of trials, besides those of checked algorithms.
namespace trial {
inline constexpr const char* smallest = "8 bytes to and fro";
inline constexpr const char* to_and_fro = "to and fro";
inline constexpr const char* gather = "all_gather";
inline constexpr const char* scatter = "reduce_scatter";
inline constexpr const char* meeting = "direct, smallest";
inline constexpr const char* fetch = "direct all_gather";
inline constexpr const char* fetch_combining = "direct reduce_scatter";
}  // namespace trial

/// The samples of one size.
struct Samples {
  double bytes = 0;
  /// Seconds of a call on the slowest rank, by trial, one sample for each round.
  std::map<std::string, std::vector<double>> seconds{};
  /// The part of a call's payload that moved directly, by checked algorithm, one for each round.
  std::map<std::string, std::vector<double>> direct{};

  /// Adds a trial's samples. Where the trial is there already, each round gets the mean of both.
  void add(const std::string& trial, const std::vector<double>& rounds);
};

nlohmann::ordered_json to_json(const Samples& samples);
Samples samples_from_json(const nlohmann::ordered_json& json);

/// The constants of a link: medians and quartiles over all rounds, or the values of one round.
/// `which`: the link without constants.
LinkProfile constants_of(const LinkProfile& which, std::span<const Samples> sizes,
                         std::optional<std::size_t> round = {});

}  // namespace rondo::tool
