// rondo_floor: what this machine can do at best, and how near rondo comes to it.
//
//   rondo_floor --against --json floor.json
#include <algorithm>
#include <cstdio>
#include <optional>

#include "bench/common/json_report.h"
#include "bench/floor/by_hand.h"
#include "bench/floor/flags.h"
#include "bench/floor/memory.h"
#include "bench/floor/options.h"
#include "bench/floor/promises.h"
#include "bench/floor/report.h"
#include "bench/floor/rondo_probes.h"
#include "bench/floor/sockets.h"

namespace rondo::bench {
namespace {

constexpr std::size_t least_copied = std::size_t{64} << 10;  ///< copies of less show no bandwidth

/// What the members share. It is made before they are forked.
struct Shared {
  Shared(const FloorOptions& options, std::size_t largest)
      : flags(Flags::bytes_for(options.ranks)),
        promises(Promises::bytes_for(options.ranks)),
        windows(ByHand::bytes_for(options.ranks, largest)),
        meeting(sizeof(UniqueId)),
        sockets(options.ranks) {}

  SharedMemory flags;
  SharedMemory promises;
  SharedMemory windows;
  SharedMemory meeting;
  Sockets sockets;
};

/// Measures all probes of one size, in turn.
void measure_size(Member& member, const std::vector<Probe>& probes, int rounds,
                  std::vector<Result>& results) {
  std::vector<Trial> trials;
  for (const Probe& probe : probes) trials.push_back(probe.trial);
  auto samples = measure(member, trials, {.rounds = rounds});
  for (std::size_t i = 0; i < probes.size(); ++i) {
    results.push_back({probes[i].name, probes[i].bytes, probes[i].traffic, std::move(samples[i])});
  }
}

std::vector<Result> measure_all(Member& member, const FloorOptions& options, Shared& shared,
                                std::size_t largest) {
  Flags flags(member, shared.flags);
  Promises promises(member, shared.promises);
  MemoryProbes memory(member, largest);
  ByHand by_hand(member, flags, shared.windows, largest);
  SocketProbes sockets(member, shared.sockets, largest);
  std::optional<RondoProbes> rondo;
  if (options.against) rondo.emplace(member, shared.meeting, largest);
  std::vector<Result> results;
  for (const std::size_t bytes : options.sizes) {
    std::vector<Probe> probes;
    const bool smallest = bytes == *std::min_element(options.sizes.begin(), options.sizes.end());
    if (smallest) add_flag_probes(flags, member, bytes, probes);
    if (smallest && bytes <= Promises::most_bytes) promises.add(bytes, probes);
    if (bytes >= least_copied) memory.add(bytes, probes);
    by_hand.add(bytes, probes);
    sockets.add(bytes, probes);
    if (rondo) rondo->add(bytes, probes);
    measure_size(member, probes, options.rounds, results);
  }
  if (rondo) rondo->finalize();
  return results;
}

void run(const FloorOptions& options) {
  const std::size_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
  Shared shared(options, largest);
  run_team(options.ranks, [&](Member& member) {
    const std::vector<Result> results = measure_all(member, options, shared, largest);
    if (member.rank() != 0) return;
    std::fputs(floor_text(options, results).c_str(), stdout);
    write_json(options.json, floor_json(options, results));
  });
}

}  // namespace
}  // namespace rondo::bench

int main(int argc, char** argv) {
  using namespace rondo::bench;
  return run_command("rondo_floor", parse_floor_options(argc, argv), run);
}
