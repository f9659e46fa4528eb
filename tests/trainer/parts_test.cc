// The small parts: options, counted memory, segments, phases, start values.
#include <cmath>
#include <limits>
#include <vector>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tools/trainer/math/kernels.h"
#include "tools/trainer/options.h"

namespace {

using namespace rondo::train;

/// The exit status; negative: the options are right.
int status_of(std::vector<const char*> words) {
  words.insert(words.begin(), "rondo-train");
  return read_command_line(static_cast<int>(words.size()), words.data(), false).leave;
}

TEST_CASE("an option is refused where the strategy or the type has no use for it") {
  CHECK(status_of({}) == -1);
  CHECK(status_of({"--help"}) == 0);
  CHECK(status_of({"--learning-rate", "1e-5"}) == -1);  // the cosine ends at a tenth of it
  CHECK(status_of({"--momentum", "0.5"}) == 2);
  CHECK(status_of({"--momentum", "0.5", "--optimizer", "sgd"}) == -1);
  CHECK(status_of({"--loss-scale", "64"}) == 2);
  CHECK(status_of({"--loss-scale", "64", "--precision", "fp16"}) == -1);
  CHECK(status_of({"--prompt", "The"}) == 2);
  CHECK(status_of({"--prompt", "The", "--sample", "9"}) == -1);
  CHECK(status_of({"--sync-every-micro-step"}) == 2);
  CHECK(status_of({"--sync-every-micro-step", "--accumulate", "2"}) == -1);
  CHECK(status_of({"--bucket-mb", "2"}) == -1);
  CHECK(status_of({"--bucket-mb", "2", "--strategy", "zero3"}) == 2);
  CHECK(status_of({"--compress", "topk:0.1", "--strategy", "zero1"}) == 2);
  CHECK(status_of({"--wire", "bf16", "--strategy", "zero1"}) == 2);
  CHECK(status_of({"--threads", "2", "--device", "gpu"}) == 2);
  CHECK(status_of({"--resume"}) == 2);
  CHECK(status_of({"--check-every", "2", "--validate"}) == 2);
}

TEST_CASE("settings are recorded by their options' names") {
  Options options;
  options.strategy.precision = Precision::bf16;
  options.shuffle = false;
  const std::string text = settings_json(options);
  CHECK_THAT(text, Catch::Contains("\"precision\":\"bf16\"") &&
                       Catch::Contains("\"no-shuffle\":true") &&
                       Catch::Contains("\"bucket-mb\":25.0"));
}

TEST_CASE("every array is counted while it lives") {
  Ledger ledger;
  {
    Array<float> first(ledger, Use::gradients, 100);
    Array<float> second = std::move(first);
    CHECK(ledger.held(Use::gradients) == 400);
    CHECK(second.span().size() == 100);
    CHECK(second[99] == 0);
    CHECK(ledger.held() == 400);
    second = Array<float>(ledger, Use::optimizer, 50);
    CHECK(ledger.held(Use::gradients) == 0);
    CHECK(ledger.peak() == 600);
  }
  CHECK(ledger.held() == 0);
  CHECK(ledger.peak(Use::gradients) == 400);
}

TEST_CASE("segments hold whole units, and every element has one owner") {
  Ledger ledger;
  const Gpt model({.outputs = 11, .inputs = 6, .layers = 3, .heads = 2, .width = 8}, ledger);
  const Layout& layout = model.layout();
  for (const std::size_t elements : {std::size_t{0}, std::size_t{1000}, layout.size()}) {
    for (int ranks = 1; ranks <= 7; ++ranks) {
      std::vector<int> owners(layout.size());
      for (int rank = 0; rank < ranks; ++rank) {
        const Partition partition(layout, ranks, rank, elements);
        CHECK(partition.padding() == partition.whole_size() - layout.size());
        CHECK(partition.padding() < partition.segments().size() * static_cast<std::size_t>(ranks));
        for (std::size_t s = 0; s < partition.segments().size(); ++s) {
          const Extent owned = partition.owned(s);
          for (std::size_t i = 0; i < owned.size; ++i) ++owners[owned.begin + i];
        }
        for (std::size_t u = 0; u < layout.units().size(); ++u) {
          const Segment& segment = partition.segment(partition.segment_of(u));
          CHECK(segment.begin + partition.offset_in_segment(u) == layout.unit(u).begin);
          CHECK(segment.end >= layout.unit(u).begin + layout.unit(u).size);
        }
      }
      CHECK(std::all_of(owners.begin(), owners.end(), [](int owner) { return owner == 1; }));
    }
  }
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

TEST_CASE("the float32 exponential is exact to float32, and lets NaN through") {
  double worst = 0;
  for (double x = -80; x < 80; x += 0.0137) {
    const auto given = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(given));
    worst = std::max(worst, std::fabs(static_cast<double>(exponential(given)) / exact - 1));
  }
  CHECK(worst < 2e-7);
  CHECK(exponential(-200.0F) < 1e-37F);
  CHECK(std::isfinite(exponential(1e30F)));
  CHECK(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
  CHECK(hyperbolic_tangent(30.0F) == 1.0F);
  CHECK(hyperbolic_tangent(-30.0F) == -1.0F);
}

}  // namespace
