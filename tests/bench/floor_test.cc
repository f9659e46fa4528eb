// The arithmetic of rondo_floor: spreads, bounds, goals.
#include "bench/floor/calls.h"
#include "bench/floor/report.h"
#include "tests/catch.h"

using namespace rondo::bench;

namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;

}  // namespace

TEST_CASE("a spread is the middle half, and ratios pair the samples") {
  const Spread spread = spread_of({5, 1, 4, 2, 3});
  CHECK(spread.low == 2);
  CHECK(spread.median == 3);
  CHECK(spread.high == 4);
  CHECK(spread_of({}).median == 0);
  const Spread between = spread_of({4, 1, 2, 3});
  CHECK(between.low == Approx(1.75));
  CHECK(between.median == Approx(2.5));
  CHECK(between.high == Approx(3.25));
  CHECK(spread_of({7}).high == 7);
  // A machine that slows down in the second round leaves the ratio alone.
  const std::vector<double> base{1, 10, 2};
  const std::vector<double> samples{2, 20, 4};
  CHECK(ratio_spread(samples, base).low == Approx(2));
  CHECK(ratio_spread(samples, base).high == Approx(2));
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
  CHECK(found[0].share.median == Approx(0.6));
  CHECK_FALSE(found[0].reached());
  CHECK(floor_text(2, 15, {timed}).find("MISSED: wanted 75%") != std::string::npos);
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
  CHECK(found[0].share.median == Approx(0.7));
  CHECK_FALSE(found[0].reached());
  CHECK(found[1].share.median == Approx(10.0 / 12));
  CHECK(found[1].reached());  // a fifth more
  timed.bytes = 64 << 10;
  CHECK_FALSE(compare(timed)[1].reached());
  timed.bytes = 1024;
  CHECK_FALSE(compare(timed)[1].wanted.has_value());
}
