// Replicas that nobody keeps in step: no change is lost, and all are equal in the end.
#include "tools/trainer/strategy/asynchronous.h"

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/trainer/train.h"
#include "tools/trainer/session.h"

namespace {

using namespace rondo::train;
using rondo::Communicator;
namespace test = rondo::test;

/// A replica in two parts, whose numbers are whole: sums are exact in any order.
class Numbers {
 public:
  Numbers() { std::iota(values_.begin(), values_.end(), 0.0F); }
  Asynchronous::Replica parts() {
    const std::span<float> all(values_);
    return {all.first(7), all.subspan(7)};
  }
  std::size_t size() const { return values_.size(); }
  void add(float change) {
    for (float& value : values_) value += change;
  }
  bool is_start_and(float change) const {
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (values_[i] != static_cast<float>(i) + change) return false;
    return true;
  }

 private:
  std::vector<float> values_ = std::vector<float>(5000);
};

TEST_CASE("every replica ends with the mean of all changes, whoever is slow") {
  for (const char* const transport : {"local", "shm", "tcp"}) {
    for (const int ranks : {1, 2, 3}) {
      for (const std::size_t local_steps : {1UL, 4UL}) {
        test::with_world(ranks, {.transport = transport}, [&](Communicator& world) {
          Ledger ledger;
          Numbers numbers;
          Asynchronous exchange(world, ledger, numbers.size(), {local_steps, 16});
          exchange.start(numbers.parts());
          float all = 0;
          for (int round = 1; round <= 3; ++round) {
            // Rank r makes its steps, each of them changes all numbers by P (r + 1).
            for (int step = 0; step < 5 * round; ++step) {
              numbers.add(static_cast<float>(ranks * (world.rank() + 1)));
              exchange.after_step(numbers.parts());
              for (int pause = 0; pause < 50 * world.rank(); ++pause) std::this_thread::yield();
            }
            exchange.settle(numbers.parts());
            all += static_cast<float>(5 * round * ranks * (ranks + 1) / 2);
            test::expect_that(numbers.is_start_and(all), "round " + std::to_string(round));
          }
          exchange.settle(numbers.parts());  // nothing is left to do
          test::expect_that(numbers.is_start_and(all), "settled twice");
          test::expect_that(ranks == 1 || exchange.staleness().changes > 0, "changes were taken");
          test::expect_that(ranks == 1 || exchange.traffic().payload_bytes > 0, "and counted");
        });
      }
    }
  }
}

TEST_CASE("a change is as stale as its receiver has made steps that its sender had not seen") {
  // Where puts are copies, a change has arrived when it was sent.
  test::with_world(2, {.transport = "local"}, [](Communicator& world) {
    Ledger ledger;
    Numbers numbers;
    Asynchronous exchange(world, ledger, numbers.size(), {1, 16});
    exchange.start(numbers.parts());
    const auto step = [&] {
      numbers.add(2);
      exchange.after_step(numbers.parts());
    };
    for (int i = 0; world.rank() == 0 && i < 10; ++i) step();
    world.barrier();
    if (world.rank() == 1) step();
    world.barrier();
    if (world.rank() == 0) step();
    world.barrier();
    const Staleness seen = exchange.staleness();
    // Rank 1 has sent its change before it took the first one of rank 0, made in its step 1.
    test::expect_that(world.rank() == 1 || (seen.changes == 1 && seen.longest == 11), "of rank 0");
    test::expect_that(world.rank() == 0 || (seen.changes == 1 && seen.longest == 1), "of rank 1");
    exchange.settle(numbers.parts());
    test::expect_that(numbers.is_start_and(12), "11 steps of one rank and 1 of the other");
  });
}

TEST_CASE("no change is more stale than allowed, and every rank gets to its end") {
  for (const std::size_t local_steps : {1UL, 3UL}) {
    for (const std::size_t staleness : {1UL, 5UL}) {
      test::with_world(3, {}, [&](Communicator& world) {
        Ledger ledger;
        Numbers numbers;
        Asynchronous exchange(world, ledger, numbers.size(), {local_steps, staleness});
        exchange.start(numbers.parts());
        for (int step = 0; step < 200; ++step) {
          numbers.add(3);
          exchange.after_step(numbers.parts());
        }
        exchange.settle(numbers.parts());
        test::expect_that(numbers.is_start_and(600), "all changes");
        test::expect_that(exchange.staleness().longest <= staleness + local_steps,
                          std::to_string(exchange.staleness().longest) + " steps");
      });
    }
  }
}

/// The mean losses of steps after each of which all ranks are settled.
std::vector<test::Loss> settled_losses(int ranks, const rondo::train::Options& options) {
  std::vector<test::Loss> losses;
  test::with_world(ranks, {}, [&](Communicator& world) {
    Session session(options, world);
    for (std::size_t step = 1; step <= options.steps; ++step) {
      double loss = session.step().loss;
      session.strategy().settle();
      world.all_reduce(loss, rondo::ReduceOperator::avg);
      if (world.rank() == 0) losses.push_back({step, loss});
    }
  });
  return losses;
}

TEST_CASE("settled after every step, the ranks train as ddp does") {
  auto options = test::small_gpt_options();
  options.optimizer = {.kind = "sgd"};
  options.clip = 0;  // ranks would clip by their own norms
  for (const int ranks : {1, 2, 3}) {
    options.strategy = {};
    const auto expected = test::losses_of(ranks, options);
    for (const StrategyInfo& row : asynchronous_strategies()) {
      INFO(row.name << " on " << ranks << " ranks");
      options.strategy = {.kind = std::string(row.name), .local_steps = 1};
      CHECK(test::difference(settled_losses(ranks, options), expected) == "");
    }
  }
}

TEST_CASE("replicas that are not settled train, too") {
  auto options = test::small_gpt_options();
  options.optimizer = {.kind = "sgd", .momentum = 0};  // old changes and momentum overshoot
  options.steps = 300;
  options.rate = {.peak = 0.1, .floor = 0.1};
  for (const StrategyInfo& row : asynchronous_strategies()) {
    options.strategy = {.kind = std::string(row.name), .local_steps = 3};
    test::with_world(3, {}, [&](Communicator& world) {
      Session session(options, world);
      const double before = session.validate(64);
      while (session.position().step < options.steps) session.step();
      const double after = session.validate(64);
      test::expect_that(after < 0.9 * before,
                        std::to_string(before) + " to " + std::to_string(after));
      session.check();  // the replicas are equal, bit for bit
    });
  }
}

}  // namespace
