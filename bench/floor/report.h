// What rondo_floor and rondo_price say: tables for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/floor/verdict.h"

namespace rondo::bench {

/// Whole lines: every measurement, the floors they imply and, where rondo ran, how near it came.
std::string floor_text(const FloorOptions& options, const std::vector<Result>& results);
nlohmann::ordered_json floor_json(const FloorOptions& options, const std::vector<Result>& results);

/// Whole lines: by hand, by the executor, and what that costs more.
std::string price_text(const PriceOptions& options, const std::vector<Price>& prices);
nlohmann::ordered_json price_json(const PriceOptions& options, const std::vector<Price>& prices);

}  // namespace rondo::bench
