// The collectives that are compared, by name.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/common/count_pattern.h"

namespace rondo::compare {

/// `copy` is no collective: every rank copies its own input, which measures what memory carries.
/// The last five have blocks that differ in size.
enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  scan,
  exclusive_scan,
  copy,
  all_gather_v,
  reduce_scatter_v,
  gather_v,
  scatter_v,
  all_to_all_v,
};

inline bool is_ragged(Collective collective) { return collective >= Collective::all_gather_v; }

/// What a command measures.
struct Subject {
  Collective collective = Collective::all_reduce;
  /// For unequal blocks. Random counts differ in every call: their seeds count up from this one.
  bench::CountPattern count_pattern{};
};

/// In the order of Collective.
inline constexpr std::array<std::string_view, 13> collective_names{
    "all_reduce", "reduce_scatter", "all_gather",  "broadcast",    "all_to_all",
    "scan",       "exclusive_scan", "copy",        "all_gather_v", "reduce_scatter_v",
    "gather_v",   "scatter_v",      "all_to_all_v"};

inline Collective parse_collective(std::string_view name) {
  const auto found = std::find(collective_names.begin(), collective_names.end(), name);
  if (found != collective_names.end())
    return static_cast<Collective>(found - collective_names.begin());
  throw std::invalid_argument("unknown collective '" + std::string(name) + "'");
}

/// "all_reduce", or with unequal blocks "all_gather_v:linear".
inline Subject parse_subject(const std::string& text) {
  const std::size_t colon = text.find(':');
  Subject subject{parse_collective(text.substr(0, colon))};
  if (is_ragged(subject.collective) != (colon != std::string::npos))
    throw std::invalid_argument("'" + text +
                                "': a pattern of counts belongs to calls with unequal blocks");
  if (colon == std::string::npos) return subject;
  const auto count_pattern = bench::parse_count_pattern(text.substr(colon + 1));
  if (!count_pattern) throw std::invalid_argument("unknown pattern of counts in '" + text + "'");
  subject.count_pattern = *count_pattern;
  return subject;
}

/// The root of a job's call number `call`. It changes from call to call, so every call has to wait
/// for the one before, and no rank can run ahead.
inline int root_of(std::size_t call, int ranks) {
  return static_cast<int>(call % static_cast<std::size_t>(ranks));
}

}  // namespace rondo::compare
