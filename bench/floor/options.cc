#include "bench/floor/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/common/size.h"
#include "bench/floor/team.h"
#include "core/base/text.h"

namespace rondo::bench {
namespace {

constexpr std::size_t kilobyte = 1024;
constexpr std::size_t megabyte = 1024 * kilobyte;

}  // namespace

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

FloorCommand parse_floor_options(int argc, const char* const* argv) {
  FloorCommand command;
  FloorOptions& options = command.options;
  options.ranks = std::max(2, allowed_cores());
  options.sizes = {8,        kilobyte,      8 * kilobyte, 64 * kilobyte,
                   megabyte, 16 * megabyte, 64 * megabyte};
  CLI::App app("Measures what this machine can do at best, and how near rondo comes to it.",
               "rondo_floor");
  app.add_option("-n,--ranks", options.ranks, "processes, one to a core [as many as cores]")
      ->check(CLI::Range(2, Member::Board::most_members));
  app.add_option("--rounds", options.rounds, "samples of each measurement [15]")
      ->check(CLI::Range(3, 10000));
  app.add_option_function<std::string>(
         "-s,--sizes", [&](const std::string& text) { options.sizes = parse_sizes(text); },
         "sizes of the vectors [8,1K,8K,64K,1M,16M,64M]")
      ->type_name("SIZE,...");
  app.add_flag("--against", options.against, "also run rondo's all_reduce, in turn, and judge it");
  app.add_option("--json", options.json, "also write the results as JSON")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    command.status = 0;
    command.text = app.help();
  } catch (const CLI::ParseError& error) {
    command.status = 2;
    command.text = std::string("rondo_floor: ") + error.what() + "\nTry rondo_floor --help\n";
  }
  return command;
}

}  // namespace rondo::bench
