// The small parts: counted memory, buckets, 16-bit floats, phases, start values.
#include <cmath>
#include <limits>
#include <vector>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tools/trainer/math/narrow.h"
#include "tools/trainer/memory/array.h"
#include "tools/trainer/model/model.h"
#include "tools/trainer/report/stopwatch.h"
#include "tools/trainer/strategy/bucket.h"

namespace {

using namespace rondo::train;

TEST_CASE("every array is counted while it lives") {
  Ledger ledger(1000);
  {
    Array<float> first(ledger, Use::gradients, 100);
    Array<float> second = std::move(first);
    CHECK(ledger.held(Use::gradients) == 400);
    CHECK(second.span().size() == 100);
    CHECK(second[99] == 0);
    CHECK_THROWS_AS(Array<float>(ledger, Use::master, 151), rondo::Error);
    CHECK(ledger.held() == 400);
    second = Array<float>(ledger, Use::optimizer, 50);
    CHECK(ledger.held(Use::gradients) == 0);
    CHECK(ledger.peak() == 600);
  }
  CHECK(ledger.held() == 0);
  CHECK(ledger.peak(Use::gradients) == 400);
  ledger.restart_peaks();
  CHECK(ledger.peak() == 0);
}

TEST_CASE("buckets cover the model from its end to its start") {
  Unit first{"first"};
  first.add({"a", {10}});
  first.add({"b", {100}});
  Unit second{"second"};
  second.add({"c", {20}});
  second.add({"d", {5}});
  const Layout layout({first, second});
  const auto buckets = make_buckets(layout, 30);
  REQUIRE(buckets.size() == 3);
  CHECK((buckets[0].begin == 110 && buckets[0].end == 135 && buckets[0].unit == 1));
  CHECK((buckets[1].begin == 10 && buckets[1].end == 110 && buckets[1].unit == 0));
  CHECK((buckets[2].begin == 0 && buckets[2].end == 10 && buckets[2].unit == 0));
  CHECK(make_buckets(layout, 1000).size() == 1);
  CHECK(make_buckets(layout, 1).size() == 4);
}

TEST_CASE("every 16-bit float survives the way to float32 and back") {
  for (const auto precision : {Precision::bf16, Precision::fp16}) {
    int changed = 0;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const auto value = static_cast<std::uint16_t>(bits);
      const float wide = widen(value, precision);
      const bool same = narrow(wide, precision) == value;
      if (!same && !std::isnan(wide)) ++changed;
      if (std::isnan(wide) && !std::isnan(widen(narrow(wide, precision), precision))) ++changed;
    }
    CHECK(changed == 0);
  }
}

TEST_CASE("rounding is to the nearest, ties to even") {
  for (const auto precision : {Precision::bf16, Precision::fp16}) {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x7bffU; ++bits) {
      const float low = widen(static_cast<std::uint16_t>(bits), precision);
      const float high = widen(static_cast<std::uint16_t>(bits + 1), precision);
      const float middle = low + (high - low) / 2;
      const std::uint32_t even = (bits & 1) == 0 ? bits : bits + 1;
      wrong += narrow(middle, precision) != even;
      wrong += narrow(std::nextafter(middle, low), precision) != bits;
      wrong += narrow(-std::nextafter(middle, high), precision) != (bits + 1 + 0x8000U);
    }
    CHECK(wrong == 0);
  }
  CHECK(std::isinf(widen(narrow(65520.0F, Precision::fp16), Precision::fp16)));
  CHECK(widen(narrow(65519.0F, Precision::fp16), Precision::fp16) == 65504.0F);
  CHECK(std::isinf(
      widen(narrow(std::numeric_limits<float>::max(), Precision::bf16), Precision::bf16)));
}

TEST_CASE("time belongs to the innermost phase") {
  Stopwatch watch;
  watch.take();
  {
    const auto outer = watch.in(Phase::backward);
    const auto inner = watch.in(Phase::communication);
  }
  const auto seconds = watch.take();
  CHECK(seconds[static_cast<std::size_t>(Phase::forward)] == 0);
  CHECK(seconds[static_cast<std::size_t>(Phase::backward)] > 0);
  CHECK(seconds[static_cast<std::size_t>(Phase::communication)] > 0);
}

TEST_CASE("start values depend on the seed and the place only") {
  Unit unit{"unit"};
  unit.add({"weight", {50, 20}, Start::normal, 0.5});
  unit.add({"gain", {3}, Start::ones});
  unit.add({"bias", {2}, Start::zeros});
  const Layout layout({unit, unit});
  std::vector<float> first(unit.size), again(unit.size), second(unit.size), other(unit.size);
  start_values(layout.unit(0), 1, first);
  start_values(layout.unit(0), 1, again);
  start_values(layout.unit(1), 1, second);
  start_values(layout.unit(0), 2, other);
  CHECK(first == again);
  CHECK(first != second);
  CHECK(first != other);
  double squares = 0;
  for (std::size_t i = 0; i < 1000; ++i) squares += static_cast<double>(first[i] * first[i]);
  CHECK(std::sqrt(squares / 1000) == Approx(0.5).epsilon(0.1));
  CHECK(first[1001] == 1);
  CHECK(first[1004] == 0);
}

}  // namespace
