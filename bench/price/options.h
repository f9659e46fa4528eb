// Command line of rondo_price.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rondo::bench {

struct PriceOptions {
  int ranks = 2;                                                        ///< -n
  int rounds = 21;                                                      ///< --rounds
  std::vector<std::size_t> sizes{};                                     ///< -s
  std::vector<std::string> transports{"shm", "tcp"};                    ///< --transport
  std::vector<std::string> algorithms{"ring", "two_shot", "one_shot"};  ///< --algorithm
  std::string json{};                                                   ///< --json
};

/// What to do after reading a command line: run, or print `text` and end with `status`.
struct PriceCommand {
  PriceOptions options{};
  std::optional<int> status{};
  std::string text{};
};

PriceCommand parse_price_options(int argc, const char* const* argv);

}  // namespace rondo::bench
