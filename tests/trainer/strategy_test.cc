// Every strategy has one model and one norm on all ranks, in every type. formulas_test.cc counts what
// it sends, whole_run_test.cc compares its losses.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/trainer/rig.h"

namespace {

using namespace rondo::train;
using rondo::Communicator;
namespace test = rondo::test;

TEST_CASE("without overlap not a bit is different") {
  for (const StrategyInfo& row : strategies()) {
    Setup setup{.strategy = {.kind = std::string(row.name), .bucket_bytes = 2000}};
    const auto overlapped = losses_of(3, setup, 5);
    setup.strategy.overlap = false;
    CHECK(losses_of(3, setup, 5) == overlapped);
  }
}

/// Destroys rank 0's strategy in the middle of backward, as an error would. Returns whether it
/// waited until rank 1 had made the calls that rank 0 had started.
bool waits_for_started_calls(const StrategyOptions& strategy) {
  std::atomic<bool> entered{false};
  bool waited = false;
  test::with_world(2, {}, [&](Communicator& world) {
    auto rig = std::make_unique<Rig>(world, Setup{.strategy = strategy});
    const std::size_t last = rig->layout().units().size() - 1;
    // Release: partner of rank 0's acquire below.
    if (world.rank() == 1) entered.store(true, std::memory_order_release);
    rig->strategy().begin_step();
    rig->strategy().begin_micro_step(true);
    rig->strategy().before_backward(last);
    rig->strategy().after_backward(last);
    rig.reset();
    if (world.rank() == 0) waited = entered.load(std::memory_order_acquire);
  });
  return waited;
}

TEST_CASE("gradients do not go while a call that was started still reads them") {
  for (const StrategyInfo& row : strategies()) {
    INFO(row.name);
    CHECK(waits_for_started_calls({.kind = std::string(row.name), .bucket_bytes = 200}));
  }
  CHECK(waits_for_started_calls({.bucket_bytes = 200, .wire = Precision::bf16}));
  CHECK(waits_for_started_calls({.bucket_bytes = 200, .top_k = 0.5}));
  CHECK(waits_for_started_calls({.bucket_bytes = 200, .quantized = true}));
}

TEST_CASE("all ranks compute with the same parameters, bit for bit") {
  for (const StrategyInfo& row : strategies()) {
    for (const auto precision : {Precision::float32, Precision::bf16, Precision::fp16}) {
      Setup setup{.strategy = {.kind = std::string(row.name),
                               .bucket_bytes = 2000,
                               .precision = precision,
                               .wire = precision}};
      setup.model.precision = precision;
      std::vector<std::vector<std::byte>> seen(3);
      train_on(3, setup, [&](Communicator& world, Rig& rig) {
        for (int i = 0; i < 3; ++i) rig.step();
        auto& own = seen[static_cast<std::size_t>(world.rank())];
        own = rig.replica();
        rondo::test::expect_that(own.size() == rig.layout().size() * info(precision).bytes,
                                 "the parameters' size");
        rig.step();  // as if nobody had looked
      });
      CHECK(seen[0] == seen[1]);
      CHECK(seen[0] == seen[2]);
    }
  }
}

TEST_CASE("a step without a finite gradient is skipped on every rank, and changes nothing") {
  for (const StrategyInfo& row : strategies()) {
    Setup setup{.strategy = {.kind = std::string(row.name),
                             .precision = Precision::fp16,
                             .wire = Precision::fp16}};
    setup.model.precision = Precision::fp16;
    setup.loss_scale = 1e9;
    train_on(2, setup, [&](Communicator&, Rig& rig) {
      const auto before = rig.replica();
      rig.step();
      rondo::test::expect_that(rig.outcome.skipped, "the step is skipped");
      rondo::test::expect_that(rig.replica() == before, "nothing has changed");
    });
  }
}

/// How far a first step moves the model on three ranks, and the norm of its gradient.
struct Move {
  double length = 0;
  double norm = 0;
};
Move first_move(const Setup& setup, int ranks) {
  Move move;
  train_on(ranks, setup, [&](Communicator& world, Rig& rig) {
    const auto before = rig.replica();
    rig.step();
    const auto after = rig.replica();
    if (world.rank() != 0) return;
    move.norm = rig.outcome.norm;
    for (std::size_t at = 0; at < before.size(); at += sizeof(float)) {
      float from = 0;
      float to = 0;
      std::memcpy(&from, &before[at], sizeof from);
      std::memcpy(&to, &after[at], sizeof to);
      move.length += std::pow(static_cast<double>(to - from), 2);
    }
    move.length = std::sqrt(move.length);
  });
  return move;
}

TEST_CASE("the global norm is one rank's, and clipping bounds the step") {
  Setup setup{.optimizer = {.kind = "sgd", .momentum = 0, .weight_decay = 0}};
  setup.strategy.kind = "ddp";
  const Move free = first_move(setup, 1);
  REQUIRE(free.norm > 0.1);
  CHECK(free.length == Approx(setup.rate * free.norm).epsilon(1e-3));
  setup.clip = free.norm / 4;
  for (const StrategyInfo& row : strategies()) {
    setup.strategy.kind = row.name;
    for (const int ranks : {1, 3}) {
      const Move clipped = first_move(setup, ranks);
      CHECK(clipped.norm == Approx(free.norm).epsilon(1e-5));
      CHECK(clipped.length == Approx(setup.rate * setup.clip).epsilon(1e-3));
    }
  }
}

/// The CPU, which cannot gather any more.
class WithoutGathers final : public Machine {
 public:
  Wait start(Communicator& world, const Collection& call) const override {
    if (call.kind != rondo::Collective::all_gather) return Machine::start(world, call);
    throw rondo::Error(rondo::ErrorCode::peer_lost, "a rank has died");
  }
};

TEST_CASE("a strategy knows when an error has ended a step between two shards") {
  const WithoutGathers machine;
  for (const std::string kind : {"zero1", "zero2"}) {
    Setup setup{.strategy = {.kind = kind, .bucket_bytes = 2000, .overlap = false}};
    train_on(2, setup, [&](Communicator&, Rig& rig) {
      rig.step();
      rondo::test::expect_that(rig.strategy().is_whole(), "a step is complete");
      rig.ledger.take_from(machine);
      try {
        rig.step();
      } catch (const rondo::Error& error) {
        rondo::test::expect_that(!rig.strategy().is_whole(), "a step is not complete");
        return;
      }
      rondo::test::expect_that(false, "the step fails");
    });
  }
}

TEST_CASE("options that only ddp has are refused in words") {
  for (const std::string kind : {"zero1", "zero2", "zero3", "zero4"}) {
    Setup setup{.strategy = {.kind = kind, .top_k = 0.1}};
    CHECK_THROWS_AS(losses_of(1, setup, 1), rondo::Error);
    setup.strategy = {.kind = kind, .quantized = true};
    CHECK_THROWS_AS(losses_of(1, setup, 1), rondo::Error);
    setup.strategy = {.kind = kind, .wire = Precision::bf16};
    CHECK_THROWS_AS(losses_of(1, setup, 1), rondo::Error);
  }
  const Setup setup{.strategy = {.kind = "zero1", .sync_every_micro_step = true}};
  CHECK_THROWS_AS(losses_of(1, setup, 1), rondo::Error);
}

}  // namespace
