// What rondo_floor says: all that was timed, the bounds that it implies, and how near rondo came.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/floor/trial.h"

namespace rondo::bench {

/// What was timed at one size.
struct Timed {
  struct Row {
    std::string name{};
    std::vector<double> seconds{};  ///< of a call, one sample for each round
  };
  std::size_t bytes = 0;
  std::vector<Row> rows{};
};

/// A call beside its bound: what the machine allows, or the same algorithm by hand.
struct Comparison {
  std::string name{};
  std::string bound{};
  Spread share{};                  ///< the bound's time over the call's, round by round
  std::optional<double> wanted{};  ///< least share, where there is a goal for this size
  bool reached() const { return !wanted || share.median >= *wanted; }
};
/// The machine's bound is one exchange of flags, and reading and writing the vector on all cores where
/// it is long. While vectors fit the caches, it is far below what any call can reach: the copies stay
/// in the caches of their cores.
std::vector<Comparison> compare(const Timed& timed);

/// Whole lines.
std::string floor_text(int ranks, int rounds, const std::vector<Timed>& all);

}  // namespace rondo::bench
