// Every strategy has one model and one norm on all ranks, in every type. formulas_test.cc counts what
// it sends, whole_run_test.cc compares its losses.
#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/trainer/bare.h"
#include "tests/trainer/train.h"
#include "tools/trainer/session.h"

namespace {

using namespace rondo::train;
using rondo::Communicator;
using rondo::test::expect_that;
namespace test = rondo::test;

rondo::train::Options options_of(const StrategyOptions& strategy) {
  auto options = test::small_gpt_options();
  options.optimizer = {.kind = "sgd"};
  options.strategy = strategy;
  return options;
}

/// Runs body(world, session) on every rank.
template <class Body>
void train_on(int ranks, const rondo::train::Options& options, Body body) {
  test::with_world(ranks, {}, [&](Communicator& world) {
    Session session(options, world);
    body(world, session);
  });
}

/// The whole model, as this rank sees it.
std::vector<std::byte> replica_of(Session& session) {
  std::vector<std::byte> all;
  for (std::size_t unit = 0; unit < session.layout().units().size(); ++unit) {
    const auto bytes = session.strategy().replica(unit);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

TEST_CASE("without overlap not a bit is different") {
  for (const StrategyInfo& row : strategies()) {
    auto options = options_of({.kind = std::string(row.name), .bucket_bytes = 2000});
    options.steps = 5;
    const auto overlapped = test::losses_of(3, options);
    options.strategy.overlap = false;
    CHECK(test::losses_of(3, options) == overlapped);
  }
}

/// Destroys rank 0's strategy in the middle of backward, as an error would. Returns whether it
/// waited until rank 1 had made the calls that rank 0 had started.
bool waits_for_started_calls(const StrategyOptions& strategy) {
  std::atomic<bool> entered{false};
  bool waited = false;
  test::with_world(2, {}, [&](Communicator& world) {
    std::optional<Session> session(std::in_place, options_of(strategy), world);
    const std::size_t last = session->layout().units().size() - 1;
    // Release: partner of rank 0's acquire below.
    if (world.rank() == 1) entered.store(true, std::memory_order_release);
    session->strategy().begin_step();
    session->strategy().begin_micro_step(true);
    session->strategy().before_backward(last);
    session->strategy().after_backward(last);
    session.reset();
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

TEST_CASE("a step without a finite gradient is skipped on every rank, and changes nothing") {
  for (const StrategyInfo& row : strategies()) {
    auto options = options_of(
        {.kind = std::string(row.name), .precision = Precision::fp16, .wire = Precision::fp16});
    options.loss_scale = 1e9;
    train_on(2, options, [&](Communicator&, Session& session) {
      const auto before = replica_of(session);
      expect_that(session.step().skipped, "the step is skipped");
      expect_that(replica_of(session) == before, "nothing has changed");
    });
  }
}

/// How far a first step moves the model, and the norm of its gradient.
struct Move {
  double length = 0;
  double norm = 0;
};
Move first_move(const rondo::train::Options& options, int ranks) {
  Move move;
  train_on(ranks, options, [&](Communicator& world, Session& session) {
    const auto before = replica_of(session);
    const double norm = session.step().norm;
    const auto after = replica_of(session);
    if (world.rank() != 0) return;
    move.norm = norm;
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
  auto options = options_of({});
  options.optimizer = {.kind = "sgd", .momentum = 0, .weight_decay = 0};
  options.rate = {.peak = 0.05, .floor = 0.05};
  options.clip = 0;
  const Move free = first_move(options, 1);
  REQUIRE(free.norm > 0.1);
  CHECK(free.length == Approx(options.rate.peak * free.norm).epsilon(1e-3));
  options.clip = free.norm / 4;
  for (const StrategyInfo& row : strategies()) {
    options.strategy.kind = row.name;
    for (const int ranks : {1, 3}) {
      const Move clipped = first_move(options, ranks);
      CHECK(clipped.norm == Approx(free.norm).epsilon(1e-5));
      CHECK(clipped.length == Approx(options.rate.peak * options.clip).epsilon(1e-3));
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
    test::with_world(2, {}, [&](Communicator& world) {
      Bare bare(world, {.outputs = 11, .inputs = 6, .layers = 3, .heads = 2, .width = 8},
                {.kind = kind, .bucket_bytes = 2000, .overlap = false});
      bare.strategy.begin_step();
      bare.strategy.step({});
      expect_that(bare.strategy.is_whole(), "a step is complete");
      bare.ledger.take_from(machine);
      try {
        bare.strategy.step({});
      } catch (const rondo::Error& error) {
        expect_that(!bare.strategy.is_whole(), "a step is not complete");
        return;
      }
      expect_that(false, "the step fails");
    });
  }
}

}  // namespace
