// The output of rondo_price: a table for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/floor/trial.h"
#include "bench/price/options.h"

namespace rondo::bench {

/// One algorithm at one size over one transport, by hand and by the executor.
struct Price {
  std::string transport{};
  std::string algorithm{};
  std::size_t bytes = 0;
  std::vector<double> by_hand{};      ///< seconds of a call, one sample for each round
  std::vector<double> by_executor{};  ///< likewise, in the same rounds

  /// The executor's additional time, as a part of the time by hand: 0.1 is 10%.
  Spread price() const;
  /// The goal at this size. There is none between the smallest messages and those of 64 KB.
  std::optional<double> allowed() const;
  bool met() const { return !allowed() || price().median <= *allowed(); }
};

std::string price_text(const PriceOptions& options, const std::vector<Price>& prices);
nlohmann::ordered_json price_json(const PriceOptions& options, const std::vector<Price>& prices);

}  // namespace rondo::bench
