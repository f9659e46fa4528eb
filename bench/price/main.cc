// rondo_price: the cost of interpreting a schedule, compared with the same algorithm by hand.
//
//   rondo_price --transport shm -s 8,64K,16M
#include <cstdio>
#include <memory>

#include "bench/common/json_report.h"
#include "bench/price/options.h"
#include "bench/price/report.h"
#include "bench/price/sides.h"

namespace rondo::bench {
namespace {

using AllSides = std::vector<std::unique_ptr<Sides>>;

AllSides make_sides(Member& member, const PriceOptions& options, SharedMemory& meeting) {
  AllSides all;
  for (const std::string& transport : options.transports) {
    for (const std::string& algorithm : options.algorithms) {
      all.push_back(std::make_unique<Sides>(member, meeting, transport, algorithm, all.size() + 1));
    }
  }
  return all;
}

/// Measures every pair of sides that takes the size, in turn.
void measure_size(Member& member, const PriceOptions& options, std::size_t bytes,
                  const AllSides& all, std::vector<Price>& prices) {
  Vectors vectors(bytes);
  std::vector<Trial> trials;
  std::vector<const Sides*> taking;
  for (const auto& sides : all) {
    if (!sides->takes(bytes)) continue;
    taking.push_back(sides.get());
    for (Trial& trial : sides->trials(bytes, vectors)) trials.push_back(std::move(trial));
  }
  auto samples = measure(member, trials, {.rounds = options.rounds});
  for (std::size_t i = 0; i < taking.size(); ++i) {
    prices.push_back({.transport = taking[i]->transport(),
                      .algorithm = taking[i]->algorithm(),
                      .bytes = bytes,
                      .by_hand = std::move(samples[2 * i]),
                      .by_executor = std::move(samples[2 * i + 1])});
  }
}

void run(const PriceOptions& options) {
  SharedMemory meeting(Wire::meeting_bytes);
  run_team(options.ranks, [&](Member& member) {
    const AllSides all = make_sides(member, options, meeting);
    std::vector<Price> prices;
    for (const std::size_t bytes : options.sizes) {
      measure_size(member, options, bytes, all, prices);
    }
    for (const auto& sides : all) sides->finalize();
    member.meet();  // no member's channels go while another one uses them
    if (member.rank() != 0) return;
    std::fputs(price_text(options, prices).c_str(), stdout);
    write_json(options.json, price_json(options, prices));
  });
}

}  // namespace
}  // namespace rondo::bench

int main(int argc, char** argv) {
  using namespace rondo::bench;
  return run_command("rondo_price", parse_price_options(argc, argv), run);
}
