// What rondo_price says: a table for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/floor/trial.h"
#include "bench/price/options.h"

namespace rondo::bench {

/// One algorithm at one size over one transport, both ways.
struct Price {
  std::string transport{};
  std::string algorithm{};
  std::size_t bytes = 0;
  std::vector<double> by_hand{};      ///< seconds of a call, a sample a round
  std::vector<double> by_executor{};  ///< likewise, in the same rounds

  /// What the executor takes more, as a part of the time by hand: 0.1 is 10%.
  Spread price() const;
  /// The goal at this size; none between the smallest messages and those of 64 KB.
  std::optional<double> allowed() const;
  bool met() const { return !allowed() || price().median <= *allowed(); }
};

std::string price_text(const PriceOptions& options, const std::vector<Price>& prices);
nlohmann::ordered_json price_json(const PriceOptions& options, const std::vector<Price>& prices);

}  // namespace rondo::bench
