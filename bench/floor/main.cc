// rondo_floor: what this machine can do at best, and how near rondo comes to it.
//
//   rondo_floor --against --json floor.json
#include <algorithm>
#include <cstdio>

#include "bench/common/json_report.h"
#include "bench/floor/report.h"
#include "bench/floor/sources.h"
#include "rondo/rondo.h"

namespace rondo::bench {
namespace {

void run(const FloorOptions& options) {
  const auto [least, most] = std::minmax_element(options.sizes.begin(), options.sizes.end());
  const std::size_t smallest = *least;
  const std::size_t largest = *most;
  // The members share this. It is made before they are forked.
  SharedMemory flag_memory(Flags::bytes_for(options.ranks));
  SharedMemory promises(promise_bytes(options.ranks));
  SharedMemory windows(window_bytes(options.ranks, largest));
  SharedMemory meeting(sizeof(UniqueId));
  const std::vector<Connection> connections = connect_pairs(options.ranks);
  run_team(options.ranks, [&](Member& member) {
    const auto flags = std::make_shared<Flags>(member, flag_memory);
    std::vector<Source> sources{flag_probes(flags, member, smallest),
                                promise_probes(member, promises, smallest), memory_probes(member),
                                by_hand_probes(member, flags, windows, largest),
                                socket_probes(member, connections)};
    if (options.against) sources.push_back(rondo_probes(member, meeting, largest));
    const std::vector<Result> results = measure(member, options, sources);
    if (member.rank() != 0) return;
    std::fputs(floor_text(options, results).c_str(), stdout);
    write_json(options.json, floor_json(options, results));
  });
}

}  // namespace
}  // namespace rondo::bench

int main(int argc, char** argv) {
  using namespace rondo::bench;
  const auto command = parse_floor_options(argc, argv);
  return run_command("rondo_floor", command, [&] { run(command.options); });
}
