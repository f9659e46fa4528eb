// What a rank holds under each strategy, by use, equals the formulas' bytes per parameter.
#include <string>

#include "tests/catch.h"
#include "tests/trainer/rig.h"

namespace {

using namespace rondo::train;
using rondo::Communicator;
using rondo::test::expect_that;

/// Bytes for each parameter: of a rank's own copy of all, and of its share of one.
struct Bytes {
  double copies = 0;
  double shares = 0;
  double at(int ranks) const { return copies + shares / ranks; }
};

/// With AdamW. In 16 bits: 2 for parameters, 2 for gradients, 4 for the master weights and 8 for
/// the moments; in float32 4, 4 and 8.
Bytes formula(std::string_view strategy, bool narrow) {
  if (strategy == "ddp") return {16, 0};
  if (strategy == "zero3") return {0, 16};
  if (strategy == "zero2") return narrow ? Bytes{2, 14} : Bytes{4, 12};
  return narrow ? Bytes{4, 12} : Bytes{8, 8};
}

Setup sizeable(const StrategyInfo& row, Precision precision) {
  Setup setup{.model = {.outputs = 40,
                        .inputs = 16,
                        .layers = 8,
                        .heads = 2,
                        .width = 32,
                        .precision = precision},
              .optimizer = {.kind = "adamw"},
              .strategy = {.kind = std::string(row.name),
                           .bucket_bytes = 40'000,
                           .precision = precision,
                           .wire = precision}};
  return setup;
}

void check_rank(Communicator& world, Rig& rig, const Bytes& bytes, const Setup& setup) {
  rig.step();
  rig.ledger.restart_peaks();
  rig.step();
  const Ledger& ledger = rig.ledger;
  const auto model = static_cast<double>(rig.layout().size());
  double lasting = 0;
  for (const Use use : {Use::parameters, Use::gradients, Use::optimizer, Use::master}) {
    expect_that(ledger.peak(use) == ledger.held(use), "what lasts has no peak");
    lasting += static_cast<double>(ledger.held(use));
  }
  const auto padded = model + static_cast<double>(rig.strategy().padding());
  expect_that(lasting == Approx(bytes.at(world.size()) * padded).epsilon(1e-9), "the formula");
  expect_that(lasting == Approx(bytes.at(world.size()) * model).epsilon(0.05), "little padding");
  // The named constant does not grow with the model, but with its largest segments: a bucket that
  // is filled, one on the wire, the root's; as many gathered units, and in 16 bits their float32
  // copies.
  std::size_t largest = setup.strategy.bucket_bytes / info(setup.strategy.precision).bytes;
  for (const Unit& unit : rig.layout().units()) largest = std::max(largest, unit.size + 4);
  constexpr std::size_t longest_run = 1U << 16;
  expect_that(ledger.peak(Use::buckets) <= 3 * largest * 4, "the buckets' bound");
  expect_that(ledger.peak(Use::working) <= (2 * 3 * largest + longest_run) * 4, "working memory");
  expect_that(ledger.peak() == static_cast<std::size_t>(lasting) + ledger.held(Use::buckets) +
                                   ledger.held(Use::working),
              "the peak is the sum");
}

TEST_CASE("memory a rank is the formula's, and a constant for buckets and open units") {
  for (const StrategyInfo& row : strategies()) {
    for (const auto precision : {Precision::float32, Precision::bf16}) {
      for (const int ranks : {1, 2, 4}) {
        const Setup setup = sizeable(row, precision);
        const Bytes bytes = formula(row.name, precision != Precision::float32);
        INFO(row.name << " in " << info(precision).name << " on " << ranks);
        train_on(ranks, setup,
                 [&](Communicator& world, Rig& rig) { check_rank(world, rig, bytes, setup); });
      }
    }
  }
}

}  // namespace
