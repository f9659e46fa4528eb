// rondo_floor: the least time that this machine allows an all-reduce in shared memory, and how near
// rondo comes to it.
//
//   rondo_floor -n 2 -s 8,64M
#include <algorithm>
#include <cstdio>
#include <utility>

#include "bench/floor/calls.h"
#include "bench/floor/report.h"

namespace rondo::bench {
namespace {

/// At each size all calls take turns.
Timed measure_size(Member& member, FloorCalls& calls, std::size_t bytes, int rounds) {
  const std::vector<Trial> trials = calls.trials(bytes);
  auto samples = measure(member, trials, {.rounds = rounds});
  Timed timed{.bytes = bytes};
  for (std::size_t i = 0; i < trials.size(); ++i)
    timed.rows.push_back({trials[i].name, std::move(samples[i])});
  return timed;
}

void run(const FloorOptions& options) {
  FloorMemory shared(options.ranks);
  run_team(options.ranks, [&](Member& member) {
    FloorCalls calls(member, shared, std::ranges::max(options.sizes));
    std::vector<Timed> all;
    for (const std::size_t bytes : options.sizes)
      all.push_back(measure_size(member, calls, bytes, options.rounds));
    calls.finish();
    if (member.rank() == 0) std::fputs(floor_text(options, all).c_str(), stdout);
  });
}

}  // namespace
}  // namespace rondo::bench

int main(int argc, char** argv) {
  using namespace rondo::bench;
  const auto command = parse_floor_options(argc, argv);
  return run_command("rondo_floor", command, [&] { run(command.options); });
}
