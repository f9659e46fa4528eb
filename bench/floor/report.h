// What rondo_floor says: tables for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/floor/options.h"
#include "bench/floor/probe.h"

namespace rondo::bench {

/// Whole lines: every measurement, the floors they imply and, where rondo ran, how near it came.
std::string floor_text(const FloorOptions& options, const std::vector<Result>& results);
nlohmann::ordered_json floor_json(const FloorOptions& options, const std::vector<Result>& results);

}  // namespace rondo::bench
