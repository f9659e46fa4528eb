#include "bench/price/options.h"

#include <CLI/CLI.hpp>

#include "bench/price/by_hand.h"

namespace rondo::bench {

Command<PriceOptions> parse_price_options(int argc, const char* const* argv) {
  Command<PriceOptions> command;
  PriceOptions& options = command.options;
  options.rounds = 21;
  CLI::App app(
      "Measures what interpreting a schedule costs: all-reduces by rondo's executor, and the same "
      "algorithms written by hand on the same transports, in turn.",
      "rondo_price");
  add_team_options(app, options,
                   {.ranks = "2", .sizes = "8,1K,8K,64K,1M,16M", .most_ranks = most_ring_ranks});
  app.add_option("--transport", options.transports, "transports [shm,tcp]")
      ->delimiter(',')
      ->check(CLI::IsMember({"shm", "tcp"}));
  app.add_option("--algorithm", options.algorithms, "algorithms [ring,two_shot,one_shot]")
      ->delimiter(',')
      ->check(CLI::IsMember({"ring", "two_shot", "one_shot"}));
  parse(app, argc, argv, command);
  return command;
}

}  // namespace rondo::bench
