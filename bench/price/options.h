// Command line of rondo_price.
#pragma once

#include <string>
#include <vector>

#include "bench/floor/options.h"

namespace rondo::bench {

struct PriceOptions : TeamOptions {
  std::vector<std::string> transports{"shm", "tcp"};                    ///< --transport
  std::vector<std::string> algorithms{"ring", "two_shot", "one_shot"};  ///< --algorithm
};

Command<PriceOptions> parse_price_options(int argc, const char* const* argv);

}  // namespace rondo::bench
