// rondo_floor: the least time that this machine allows an all-reduce in shared memory, and how near
// rondo comes to it.
//
//   rondo_floor -n 2 -s 8,64M
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "bench/common/side_program.h"
#include "bench/common/size.h"
#include "bench/floor/calls.h"
#include "bench/floor/report.h"
#include "core/base/text.h"

namespace rondo::bench {
namespace {

/// Sizes of vectors of whole floats. Throws CLI::ValidationError.
std::vector<std::size_t> parse_sizes(const std::string& text) {
  std::vector<std::size_t> sizes;
  for (const std::string& part : split(text, ',')) {
    const auto bytes = parse_size(part);
    if (!bytes || *bytes < sizeof(float) || *bytes % sizeof(float) != 0)
      throw CLI::ValidationError(
          "-s,--sizes", "'" + part + "' is no size of whole floats; write e.g. 8, 64K or 16M");
    sizes.push_back(*bytes);
  }
  return sizes;
}

/// At each size all calls take turns.
Timed measure_size(Member& member, FloorCalls& calls, std::size_t bytes, int rounds) {
  const std::vector<Trial> trials = calls.trials(bytes);
  auto samples = measure(member, trials, {.rounds = rounds});
  Timed timed{.bytes = bytes};
  for (std::size_t i = 0; i < trials.size(); ++i)
    timed.rows.push_back({trials[i].name, std::move(samples[i])});
  return timed;
}

void run(int ranks, int rounds, const std::vector<std::size_t>& sizes) {
  FloorMemory shared(ranks);
  run_team(ranks, [&](Member& member) {
    FloorCalls calls(member, shared, std::ranges::max(sizes));
    std::vector<Timed> all;
    for (const std::size_t bytes : sizes) all.push_back(measure_size(member, calls, bytes, rounds));
    calls.finish();
    if (member.rank() == 0) std::fputs(floor_text(ranks, rounds, all).c_str(), stdout);
  });
}

}  // namespace
}  // namespace rondo::bench

int main(int argc, char** argv) {
  using namespace rondo::bench;
  int ranks = std::max(2, allowed_cores());
  int rounds = 15;
  std::vector<std::size_t> sizes = parse_sizes("8,1K,8K,64K,1M,16M,64M");
  CLI::App app(
      "Measures the least time that this machine allows an all-reduce in shared memory, and how\n"
      "near rondo comes to it; and what interpreting a schedule costs against the same algorithm\n"
      "by hand.",
      "rondo_floor");
  app.add_option("-n,--ranks", ranks, "processes, one to a core [as many as cores]")
      ->check(CLI::Range(2, most_members));
  app.add_option("--rounds", rounds, "samples of each measurement [15]")
      ->check(CLI::Range(3, 10000));
  app.add_option_function<std::string>(
         "-s,--sizes", [&](const std::string& text) { sizes = parse_sizes(text); },
         "sizes of the vectors [8,1K,8K,64K,1M,16M,64M]")
      ->type_name("SIZE,...");
  return run_side_program(app, argc, argv, [&] { run(ranks, rounds, sizes); });
}
