// Verdicts: rondo against what the machine can do, and the goals for it. All functions are pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/floor/paths.h"
#include "bench/floor/probe.h"

namespace rondo::bench {

/// The machine's own figures for vectors of `bytes`, from the results of that size. The figures for
/// messages are from the smallest size measured. Rates are 0 where nothing was measured.
Floor floor_at(const std::vector<Result>& results, std::size_t bytes);

/// One of rondo's results beside a floor of the same run.
struct Comparison {
  std::string name{};   ///< the name of rondo's result
  std::string floor{};  ///< the name of the result that it is held against
  std::size_t bytes = 0;
  Spread share{};  ///< floor's time over rondo's, sample by sample: 1 is the floor itself
};
std::vector<Comparison> compare(const std::vector<Result>& results);
/// The first rows of compare(), for 8 B. The loop by hand, promise by promise, and rondo are held
/// against the bare exchange of flags. Rondo is also held against the loop with all promises.
std::vector<Comparison> promised(const std::vector<Result>& results);

/// A goal and whether it was reached.
struct Verdict {
  std::string goal{};
  double wanted = 0;  ///< least share of the floor
  Spread share{};
  Spread beyond{};  ///< seconds by which rondo exceeds the floor, sample by sample
  bool reached() const { return share.median >= wanted; }
};
/// The verdicts on goals whose sizes were measured.
std::vector<Verdict> judge(const std::vector<Result>& results, int ranks);

/// One algorithm at one size over one transport, by hand and by the executor.
struct Price {
  std::string transport{};
  std::string algorithm{};
  Result by_hand{};
  Result by_executor{};  ///< in the same rounds

  /// The executor's additional time, as a part of the time by hand: 0.1 is 10%.
  Spread price() const;
  /// The goal at this size. There is none between the smallest messages and those of 64 KB.
  std::optional<double> allowed() const;
  bool met() const { return !allowed() || price().median <= *allowed(); }
};
/// By size, transport and algorithm.
std::vector<Price> prices(const PriceOptions& options, const std::vector<Result>& results);

}  // namespace rondo::bench
