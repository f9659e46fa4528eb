// Verdicts: rondo against what the machine can do, and the goals for it. Pure.
#pragma once

#include <string>
#include <vector>

#include "bench/floor/paths.h"
#include "bench/floor/probe.h"

namespace rondo::bench {

/// The machine's own figures for vectors of `bytes`, from the results of that size (and, for the
/// messages, of the smallest size measured). Rates of 0 where nothing was measured.
Floor floor_at(const std::vector<Result>& results, std::size_t bytes);

/// One of rondo's results beside a floor of the same run.
struct Comparison {
  std::string name{};   ///< of rondo's
  std::string floor{};  ///< of what it is held against
  std::size_t bytes = 0;
  Spread share{};  ///< floor's time over rondo's, sample by sample: 1 is the floor itself
};
std::vector<Comparison> compare(const std::vector<Result>& results);
/// The first of compare()'s: 8 B by hand, promise by promise, and rondo, against the bare exchange
/// of flags; and rondo against all that is promised by hand.
std::vector<Comparison> promised(const std::vector<Result>& results);

/// A goal and whether it was reached.
struct Verdict {
  std::string goal{};
  double wanted = 0;  ///< least share of the floor
  Spread share{};
  Spread beyond{};  ///< seconds that rondo takes more than the floor, sample by sample
  bool reached() const { return share.median >= wanted; }
};
/// Those whose sizes were measured.
std::vector<Verdict> judge(const std::vector<Result>& results, int ranks);

}  // namespace rondo::bench
