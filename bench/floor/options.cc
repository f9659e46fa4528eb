#include "bench/floor/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "bench/common/size.h"
#include "bench/floor/team.h"
#include "core/base/text.h"

namespace rondo::bench {
namespace {

constexpr const char* default_sizes = "8,1K,8K,64K,1M,16M,64M";

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

}  // namespace

Command<FloorOptions> parse_floor_options(int argc, const char* const* argv) {
  Command<FloorOptions> command;
  FloorOptions& options = command.options;
  options.ranks = std::max(2, allowed_cores());
  options.sizes = parse_sizes(default_sizes);
  CLI::App app(
      "Measures the least time that this machine allows an all-reduce in shared memory, and how\n"
      "near rondo comes to it; and what interpreting a schedule costs against the same algorithm "
      "by\n"
      "hand.",
      "rondo_floor");
  app.add_option("-n,--ranks", options.ranks, "processes, one to a core [as many as cores]")
      ->check(CLI::Range(2, most_members));
  app.add_option("--rounds", options.rounds, "samples of each measurement [15]")
      ->check(CLI::Range(3, 10000));
  app.add_option_function<std::string>(
         "-s,--sizes", [&](const std::string& text) { options.sizes = parse_sizes(text); },
         std::string("sizes of the vectors [") + default_sizes + "]")
      ->type_name("SIZE,...");
  parse(app, argc, argv, command);
  return command;
}

}  // namespace rondo::bench
