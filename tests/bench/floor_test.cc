// The arithmetic of rondo_floor and rondo_price: floors, spreads, verdicts, pieces and their order.
#include <algorithm>
#include <cmath>
#include <set>

#include "bench/floor/cut.h"
#include "bench/floor/paths.h"
#include "bench/floor/report.h"
#include "bench/floor/sources.h"
#include "tests/catch.h"

using namespace rondo::bench;

namespace {

bool near(double actual, double expected) {
  return std::fabs(actual - expected) <= 1e-9 * std::fabs(expected);
}

constexpr std::size_t megabyte = std::size_t{1} << 20;

const Path& path_of(std::string_view name) {
  const auto found = std::ranges::find(paths(), name, &Path::name);
  REQUIRE(found != paths().end());
  return *found;
}

}  // namespace

TEST_CASE("a path's floor is its bytes at the full rate and its messages") {
  const Floor floor{
      .memory_rate = 1e9, .exchange_seconds = 1e-6, .network_rate = 1e8, .network_seconds = 1e-5};
  // Two ranks read 1000 bytes and write 1000 each, and meet twice.
  CHECK(near(floor_seconds(path_of("direct_two_shot"), floor, 1000, 2), 4e-6 + 2e-6));
  // 4.5 bytes for each, as counted from the steps: (2 + 5 + 2) halves.
  CHECK(near(path_of("slots_ring").touched(2), 4.5));
  CHECK(near(floor_seconds(path_of("slots_ring"), floor, 1000, 2), 9e-6 + 2e-6));
  CHECK(path_of("slots_ring").messages(4) == 6);
  CHECK(path_of("slots_two_shot").messages(4) == 2);
  CHECK(near(path_of("slots_one_shot").touched(4), 11));
  // Over sockets a rank of two sends the vector's length in all.
  CHECK(near(floor_seconds(path_of("tcp_ring"), floor, 1000, 2), 2000 / 1e8 + 2e-5));
  CHECK(floor_seconds(path_of("tcp_ring"), floor, 1000, 1) == 0);
}

TEST_CASE("a spread is the middle half, and ratios pair the samples") {
  const Spread spread = spread_of({5, 1, 4, 2, 3});
  CHECK(spread.low == 2);
  CHECK(spread.median == 3);
  CHECK(spread.high == 4);
  CHECK(spread_of({}).median == 0);
  const Spread between = spread_of({4, 1, 2, 3});
  CHECK(near(between.low, 1.75));
  CHECK(near(between.median, 2.5));
  CHECK(near(between.high, 3.25));
  CHECK(spread_of({7}).high == 7);
  // A machine that slows down in the second round leaves the ratio alone.
  const std::vector<double> base{1, 10, 2};
  const std::vector<double> samples{2, 20, 4};
  CHECK(near(ratio_spread(samples, base).low, 2));
  CHECK(near(ratio_spread(samples, base).high, 2));
}

TEST_CASE("rondo is judged by the faster raw result of the same size") {
  const std::vector<Result> results{
      {probe::flags, 8, 0, {1e-6}},
      {probe::rondo_window, 8, 8, {1.2e-6}},
      {probe::copy_all, 64 * megabyte, 4e8, {8e-3}},
      {probe::copy_all_streaming, 64 * megabyte, 4e8, {6e-3}},
      {probe::by_hand, 64 * megabyte, 4e8, {9e-3}},
      {probe::rondo_window, 64 * megabyte, 1e8, {10e-3}},
      {probe::sockets, 64 * megabyte, 1e8, {20e-3}},
      {probe::two_sockets, 64 * megabyte, 1e8, {18e-3}},
      {probe::rondo_tcp, 64 * megabyte, 1e8, {20e-3}},
  };
  const auto verdicts = judge(results, 2);
  REQUIRE(verdicts.size() == 3);
  CHECK(near(verdicts[0].share.median, 0.6));
  CHECK_FALSE(verdicts[0].reached());
  CHECK(near(verdicts[0].beyond.median, 4e-3));
  CHECK(verdicts[1].reached());
  CHECK(near(verdicts[2].share.median, 0.9));
  CHECK(verdicts[2].reached());
  CHECK(judge(results, 4).size() == 2);  // pairs of sockets are no measure for more ranks

  const auto shares = compare(results);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].floor == probe::by_hand);
  CHECK(near(shares[1].share.median, 0.9));
  const Floor floor = floor_at(results, 64 * megabyte);
  CHECK(near(floor.memory_rate, 4e8 / 6e-3));
  CHECK(near(floor.exchange_seconds, 1e-6));
}

TEST_CASE("promises for 8 bytes are reported step by step, and rondo is compared with them") {
  std::vector<Result> results{
      {probe::flags, 8, 0, {6e-8}},
      {probe::promised_data, 8, 0, {7.5e-8}},
      {probe::rondo_heap, 8, 8, {12e-8}},
  };
  CHECK(promised(results).empty());  // the loop with all promises is missing
  results.push_back({probe::promised_all, 8, 0, {10e-8}});
  const auto steps = promised(results);
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].name == probe::promised_data);
  CHECK(near(steps[0].share.median, 0.8));
  CHECK(near(steps[1].share.median, 0.6));
  CHECK(steps[2].floor == probe::flags);
  CHECK(near(steps[2].share.median, 0.5));
  CHECK(steps[3].floor == probe::promised_all);
  CHECK(near(steps[3].share.median, 10.0 / 12));
}

TEST_CASE("the loop by hand keeps every promise with several members") {
  SharedMemory memory(promise_bytes(3));
  run_team(3, [&](Member& member) {
    std::vector<Probe> probes;
    const Source promises = promise_probes(member, memory, most_promised);
    promises.add(most_promised, probes);
    for (const Probe& probe : probes) {
      for (int sample = 0; sample < 3; ++sample) {
        probe.trial.prepare();
        probe.trial.run(20);  // each place is used anew
        probe.trial.check();
      }
    }
    if (probes.size() != 4) throw std::runtime_error("there are four steps");
  });
}

TEST_CASE("a cut covers the vector once, in slices that fit a frame") {
  const std::size_t count = GENERATE(0, 1, 2, 5, 1000, 16385, 1 << 20);
  const int chunks = GENERATE(2, 3, 4);
  constexpr std::size_t frame_bytes = 65536;
  const Cut cut(count, chunks, frame_bytes);
  CHECK(cut.count() == count);
  std::size_t covered = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    for (int slice = 0; slice < cut.slices(); ++slice) {
      const Piece piece = cut.piece(chunk, slice);
      if (piece.elements > 0) CHECK(piece.begin == covered);
      CHECK(piece.elements * sizeof(float) <= frame_bytes);
      covered += piece.elements;
    }
    CHECK(cut.piece(chunk, cut.slices()).elements == 0);
  }
  CHECK(covered == count);
}

TEST_CASE("a walk visits every item of every slice once, slices staggered") {
  const int slices = GENERATE(0, 1, 2, 5);
  std::set<std::pair<int, int>> seen;
  int last_time = 0;
  for (Walk walk(1, 3, slices); !walk.done(); walk.next()) {
    CHECK(seen.insert({walk.item(), walk.slice()}).second);
    CHECK(walk.item() + walk.slice() >= last_time);
    last_time = walk.item() + walk.slice();
  }
  CHECK(seen.size() == static_cast<std::size_t>(3 * slices));
}

TEST_CASE("walks of both ends of a channel keep one order") {
  Walk out(0, 1, 3);
  Walk in(1, 2, 3);
  for (; !out.done(); out.next(), in.next()) {
    REQUIRE_FALSE(in.done());
    CHECK(in.item() == out.item() + 1);
    CHECK(in.slice() == out.slice());
  }
  CHECK(in.done());
}

TEST_CASE("a price is judged where there is a goal for its size") {
  PriceOptions options;
  options.sizes = {8, 64 << 10};
  const auto all = prices(
      options, {{probe::priced("shm", "ring", probe::hand), 64 << 10, 0, {1, 1, 1}},
                {probe::priced("shm", "ring", probe::executor), 64 << 10, 0, {1.05, 1.2, 1.05}}});
  REQUIRE(all.size() == 1);
  Price price = all.front();
  CHECK(near(1 + price.price().median, 1.05));
  CHECK(price.met());
  price.by_executor.samples = {1.2, 1.2, 1.2};
  CHECK_FALSE(price.met());
  price.by_hand.bytes = 8;
  CHECK(price.met());
  price.by_hand.bytes = 1024;
  CHECK_FALSE(price.allowed().has_value());
  CHECK(price_text({}, {price}).find("0 over the limit") != std::string::npos);
  CHECK(price_json({}, {price})["prices"][0]["bytes"] == 1024);
}

TEST_CASE("command lines of floor and price name what they refuse") {
  const char* good[] = {"rondo_floor", "-n", "3", "-s", "8,1M", "--against"};
  const auto floor = parse_floor_options(6, good);
  REQUIRE_FALSE(floor.status);
  CHECK(floor.options.ranks == 3);
  CHECK(floor.options.against);
  CHECK(floor.options.sizes == std::vector<std::size_t>{8, megabyte});
  const char* odd[] = {"rondo_floor", "-s", "7"};
  CHECK(parse_floor_options(3, odd).status == 2);
  CHECK(parse_floor_options(3, odd).text.find("'7' is no size") != std::string::npos);
  const char* carriers[] = {"rondo_price", "--transport", "carriers"};
  CHECK(parse_price_options(3, carriers).status == 2);
  const char* help[] = {"rondo_price", "--help"};
  CHECK(parse_price_options(2, help).status == 0);
}
