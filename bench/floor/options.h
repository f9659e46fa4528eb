// Command lines of rondo_floor and of the programs beside it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/common/command.h"

namespace rondo::bench {

/// What programs that measure with a team have in common.
struct TeamOptions {
  int ranks = 2;                     ///< -n
  int rounds = 15;                   ///< --rounds
  std::vector<std::size_t> sizes{};  ///< -s: of vectors of float32, whole elements
  std::string json{};                ///< --json
};

/// The defaults, as the help shows them.
struct TeamDefaults {
  std::string ranks{};
  std::string sizes{};  ///< as people write them: "8,64K,16M"
  int most_ranks = 2;
};

/// Adds these options to `app`, which keeps referring to `options`, and sets the default sizes.
void add_team_options(CLI::App& app, TeamOptions& options, const TeamDefaults& defaults);

struct FloorOptions : TeamOptions {
  bool against = false;  ///< --against
};

Command<FloorOptions> parse_floor_options(int argc, const char* const* argv);

}  // namespace rondo::bench
