// rondo_price: the cost of interpreting a schedule, compared with the same algorithm by hand.
//
//   rondo_price --transport shm -s 8,64K,16M
#include <algorithm>
#include <cstdio>

#include "bench/common/json_report.h"
#include "bench/floor/report.h"
#include "bench/floor/sources.h"
#include "bench/floor/wire.h"

namespace rondo::bench {
namespace {

void run(const PriceOptions& options) {
  const std::size_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
  SharedMemory meeting(meeting_bytes);
  run_team(options.ranks, [&](Member& member) {
    std::vector<float> input(largest / sizeof(float));
    std::vector<float> output(input.size());
    const Vectors vectors{input.data(), output.data(), largest};
    std::vector<Source> sources;
    for (const std::string& transport : options.transports) {
      for (const std::string& algorithm : options.algorithms)
        sources.push_back(
            price_probes(member, meeting, transport, algorithm, sources.size() + 1, vectors));
    }
    const auto found = prices(options, measure(member, options, sources));
    if (member.rank() != 0) return;
    std::fputs(price_text(options, found).c_str(), stdout);
    write_json(options.json, price_json(options, found));
  });
}

}  // namespace
}  // namespace rondo::bench

int main(int argc, char** argv) {
  using namespace rondo::bench;
  const auto command = parse_price_options(argc, argv);
  return run_command("rondo_price", command, [&] { run(command.options); });
}
