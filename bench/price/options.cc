#include "bench/price/options.h"

#include <CLI/CLI.hpp>

#include "bench/floor/options.h"
#include "bench/price/by_hand.h"

namespace rondo::bench {

PriceCommand parse_price_options(int argc, const char* const* argv) {
  PriceCommand command;
  PriceOptions& options = command.options;
  constexpr std::size_t kilobyte = 1024;
  constexpr std::size_t megabyte = 1024 * kilobyte;
  options.sizes = {8, kilobyte, 8 * kilobyte, 64 * kilobyte, megabyte, 16 * megabyte};
  CLI::App app(
      "Measures what interpreting schedules costs: all-reduces by rondo's executor and the "
      "same by hand on the same transports, in turn.",
      "rondo_price");
  app.add_option("-n,--ranks", options.ranks, "processes, one to a core [2]")
      ->check(CLI::Range(2, most_ring_ranks));
  app.add_option("--rounds", options.rounds, "samples of each measurement [21]")
      ->check(CLI::Range(3, 10000));
  app.add_option_function<std::string>(
         "-s,--sizes", [&](const std::string& text) { options.sizes = parse_sizes(text); },
         "sizes of the vectors [8,1K,8K,64K,1M,16M]")
      ->type_name("SIZE,...");
  app.add_option("--transport", options.transports, "transports [shm,tcp]")
      ->delimiter(',')
      ->check(CLI::IsMember({"shm", "tcp"}));
  app.add_option("--algorithm", options.algorithms, "algorithms [ring,two_shot,one_shot]")
      ->delimiter(',')
      ->check(CLI::IsMember({"ring", "two_shot", "one_shot"}));
  app.add_option("--json", options.json, "also write the results as JSON")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    command.status = 0;
    command.text = app.help();
  } catch (const CLI::ParseError& error) {
    command.status = 2;
    command.text = std::string("rondo_price: ") + error.what() + "\nTry rondo_price --help\n";
  }
  return command;
}

}  // namespace rondo::bench
