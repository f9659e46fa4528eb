// Command lines of rondo_floor and of the programs beside it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rondo::bench {

struct FloorOptions {
  int ranks = 2;                     ///< -n; the number of cores where not given, at least 2
  int rounds = 15;                   ///< --rounds
  bool against = false;              ///< --against
  std::vector<std::size_t> sizes{};  ///< -s
  std::string json{};                ///< --json
};

/// What to do after reading a command line: run, or print `text` and end with `status`.
struct FloorCommand {
  FloorOptions options{};
  std::optional<int> status{};
  std::string text{};
};

/// Sizes of vectors of float32, as people write them: "8,64K,16M". Throws CLI::ValidationError.
std::vector<std::size_t> parse_sizes(const std::string& text);

FloorCommand parse_floor_options(int argc, const char* const* argv);

}  // namespace rondo::bench
