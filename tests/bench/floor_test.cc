// The arithmetic of rondo_floor: spreads, bounds, goals; and its command line.
#include <cmath>

#include "bench/floor/calls.h"
#include "bench/floor/options.h"
#include "bench/floor/report.h"
#include "tests/catch.h"

using namespace rondo::bench;

namespace {

bool near(double actual, double expected) {
  return std::fabs(actual - expected) <= 1e-9 * std::fabs(expected);
}

constexpr std::size_t megabyte = std::size_t{1} << 20;

}  // namespace

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

TEST_CASE("rondo is held against the machine's messages and bytes, in the same rounds") {
  const Timed timed{.bytes = 64 * megabyte,
                    .rows = {{timed::flags, {1e-3, 1e-3, 1e-3}},
                             {timed::copy, {8e-3, 8e-3, 8e-3}},
                             {timed::copy_streaming, {5e-3, 5e-3, 50e-3}},
                             {timed::windows, {10e-3, 10e-3, 102e-3}}}};
  const auto found = compare(timed);
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == timed::windows);
  CHECK(found[0].bound == "flag exchange + copy, all cores, streaming");
  CHECK(near(found[0].share.median, 0.6));
  CHECK_FALSE(found[0].reached());
  CHECK(floor_text({}, {timed}).find("MISSED: wanted 75%") != std::string::npos);
}

TEST_CASE("short calls are held against an exchange of flags, the executor against code by hand") {
  Timed timed{.bytes = 8,
              .rows = {{timed::flags, {7e-8}},
                       {timed::heap, {10e-8}},
                       {timed::by_hand, {10e-8}},
                       {timed::by_executor, {12e-8}}}};
  const auto found = compare(timed);
  REQUIRE(found.size() == 2);
  CHECK(found[0].bound == timed::flags);
  CHECK(near(found[0].share.median, 0.7));
  CHECK_FALSE(found[0].reached());
  CHECK(near(found[1].share.median, 10.0 / 12));
  CHECK(found[1].reached());  // a fifth more
  timed.bytes = 64 << 10;
  CHECK_FALSE(compare(timed)[1].reached());
  timed.bytes = 1024;
  CHECK_FALSE(compare(timed)[1].wanted.has_value());
}

TEST_CASE("the command line names what it refuses") {
  const char* good[] = {"rondo_floor", "-n", "3", "-s", "8,1M"};
  const auto floor = parse_floor_options(5, good);
  REQUIRE_FALSE(floor.status);
  CHECK(floor.options.ranks == 3);
  CHECK(floor.options.sizes == std::vector<std::size_t>{8, megabyte});
  const char* odd[] = {"rondo_floor", "-s", "7"};
  CHECK(parse_floor_options(3, odd).status == 2);
  CHECK(parse_floor_options(3, odd).text.find("'7' is no size") != std::string::npos);
  const char* help[] = {"rondo_floor", "--help"};
  CHECK(parse_floor_options(2, help).status == 0);
}
