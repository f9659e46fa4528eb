// The command line of rondo_floor.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/common/command.h"

namespace rondo::bench {

struct FloorOptions {
  int ranks = 2;                     ///< -n
  int rounds = 15;                   ///< --rounds
  std::vector<std::size_t> sizes{};  ///< -s: of vectors of float32, whole elements
};

Command<FloorOptions> parse_floor_options(int argc, const char* const* argv);

}  // namespace rondo::bench
