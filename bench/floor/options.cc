#include "bench/floor/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/common/size.h"
#include "bench/floor/hand_all_reduce.h"
#include "bench/floor/team.h"
#include "core/base/text.h"

namespace rondo::bench {
namespace {

/// Throws CLI::ValidationError.
std::vector<std::size_t> parse_sizes(const std::string& text) {
  std::vector<std::size_t> sizes;
  for (const std::string& part : split(text, ',')) {
    const auto bytes = parse_size(part);
    if (!bytes || *bytes < sizeof(float) || *bytes % sizeof(float) != 0) {
      throw CLI::ValidationError(
          "-s,--sizes", "'" + part + "' is no size of whole floats; write e.g. 8, 64K or 16M");
    }
    sizes.push_back(*bytes);
  }
  return sizes;
}

/// The defaults, as the help shows them.
struct Defaults {
  std::string ranks{};
  std::string sizes{};  ///< as people write them: "8,64K,16M"
  int most_ranks = 2;
};

/// Adds what both programs have, and sets the default sizes.
void add_team_options(CLI::App& app, TeamOptions& options, const Defaults& defaults) {
  options.sizes = parse_sizes(defaults.sizes);
  app.add_option("-n,--ranks", options.ranks, "processes, one to a core [" + defaults.ranks + "]")
      ->check(CLI::Range(2, defaults.most_ranks));
  app.add_option("--rounds", options.rounds,
                 "samples of each measurement [" + std::to_string(options.rounds) + "]")
      ->check(CLI::Range(3, 10000));
  app.add_option_function<std::string>(
         "-s,--sizes", [&](const std::string& text) { options.sizes = parse_sizes(text); },
         "sizes of the vectors [" + defaults.sizes + "]")
      ->type_name("SIZE,...");
  app.add_option("--json", options.json, "also write the results as JSON")->type_name("FILE");
}

/// --transport and --algorithm: some of the names that are the default.
void add_names(CLI::App& app, const std::string& option, std::vector<std::string>& names) {
  const std::vector<std::string> known = names;
  app.add_option("--" + option, names, option + "s [" + CLI::detail::join(known, ",") + "]")
      ->delimiter(',')
      ->check(CLI::IsMember(known));
}

}  // namespace

Command<FloorOptions> parse_floor_options(int argc, const char* const* argv) {
  Command<FloorOptions> command;
  FloorOptions& options = command.options;
  options.ranks = std::max(2, allowed_cores());
  CLI::App app("Measures the best this machine can do, and how near rondo comes to it.",
               "rondo_floor");
  add_team_options(
      app, options,
      {.ranks = "as many as cores", .sizes = "8,1K,8K,64K,1M,16M,64M", .most_ranks = most_members});
  app.add_flag("--against", options.against,
               "also run rondo's all_reduce, in turn, and compare; with -s 8 also compare with a "
               "loop by hand, to which rondo's promises are added one by one");
  parse(app, argc, argv, command);
  return command;
}

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
  add_names(app, "transport", options.transports);
  add_names(app, "algorithm", options.algorithms);
  parse(app, argc, argv, command);
  return command;
}

}  // namespace rondo::bench
