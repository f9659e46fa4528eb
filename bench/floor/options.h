// Command lines of rondo_floor and rondo_price.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/common/command.h"

namespace rondo::bench {

/// What both have in common.
struct TeamOptions {
  int ranks = 2;                     ///< -n
  int rounds = 15;                   ///< --rounds
  std::vector<std::size_t> sizes{};  ///< -s: of vectors of float32, whole elements
  std::string json{};                ///< --json
};

struct FloorOptions : TeamOptions {
  bool against = false;  ///< --against
};

struct PriceOptions : TeamOptions {
  std::vector<std::string> transports{"shm", "tcp"};                    ///< --transport
  std::vector<std::string> algorithms{"ring", "two_shot", "one_shot"};  ///< --algorithm
};

Command<FloorOptions> parse_floor_options(int argc, const char* const* argv);
Command<PriceOptions> parse_price_options(int argc, const char* const* argv);

}  // namespace rondo::bench
