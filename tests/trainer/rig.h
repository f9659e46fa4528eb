// A rank that trains without the rest of the program, for tests of models and strategies.
#pragma once

#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tests/catch.h"
#include "tests/support/threads.h"
#include "tests/trainer/losses.h"
#include "tools/trainer/data/random.h"
#include "tools/trainer/model/gpt.h"
#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

/// Equal on every rank.
struct Setup {
  ModelOptions model{.outputs = 11, .inputs = 6, .layers = 3, .heads = 2, .width = 8};
  OptimizerOptions optimizer{.kind = "sgd"};
  StrategyOptions strategy{};
  std::size_t rows = 12;  ///< of a global batch: a multiple of ranks and micro-steps
  std::size_t micro_steps = 1;
  double rate = 0.05;
  double clip = 0;
  double loss_scale = 1;
};

/// Data that can be learnt: each token follows from the one before it.
inline Batch make_batch(const ModelOptions& model, std::size_t step,
                        const std::vector<std::size_t>& rows) {
  Batch batch{.rows = rows.size(), .columns = model.inputs};
  for (const std::size_t row : rows) {
    Random random(mix(step, row));
    auto token = random.below(model.outputs);
    for (std::size_t i = 0; i < model.inputs; ++i) {
      batch.tokens.push_back(static_cast<std::int32_t>(token));
      token = (3 * token + 1 + random.below(2)) % model.outputs;
      batch.targets.push_back(static_cast<std::int32_t>(token));
    }
  }
  return batch;
}

/// Belongs to one rank.
class Rig {
 public:
  Rig(Communicator& world, const Setup& setup)
      : world_(world),
        setup_(setup),
        model(setup.model, activations),
        optimizer_(setup.optimizer, model.layout()),
        strategy_({world, model.layout(), optimizer_, ledger, watch_}, setup.strategy) {
    strategy_.start(5);
  }

  /// Returns the mean loss of the global batch, equal on every rank.
  double step() {
    double loss = step_alone();
    strategy_.settle();
    world_.all_reduce(&loss, &loss, 1, DataType::float64);
    return loss;
  }
  /// Without what makes an asynchronous strategy wait. Returns this rank's part of the loss.
  double step_alone() {
    const auto ranks = static_cast<std::size_t>(world_.size());
    const std::size_t rows = setup_.rows / setup_.micro_steps / ranks;
    const auto targets = static_cast<double>(setup_.rows * setup_.model.inputs);
    double loss = 0;
    strategy_.begin_step();
    for (std::size_t micro = 0; micro < setup_.micro_steps; ++micro) {
      std::vector<std::size_t> own;
      for (std::size_t i = 0; i < rows; ++i) {
        own.push_back((micro * rows + i) * ranks + static_cast<std::size_t>(world_.rank()));
      }
      const Batch batch = make_batch(setup_.model, taken_, own);
      strategy_.begin_micro_step(micro + 1 == setup_.micro_steps);
      loss += model.forward(batch, strategy_);
      model.backward(batch, strategy_, setup_.loss_scale * static_cast<double>(ranks) / targets);
      strategy_.end_micro_step();
    }
    ++taken_;
    outcome = strategy_.step({.step = {taken_, setup_.rate, 1 / setup_.loss_scale},
                              .clip = setup_.clip,
                              .skip_bad = true});
    return loss / targets;
  }

  /// The whole model, as every rank sees it.
  std::vector<std::byte> replica() {
    std::vector<std::byte> all;
    for (std::size_t unit = 0; unit < model.layout().units().size(); ++unit) {
      const auto bytes = strategy_.replica(unit);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }

  Strategy& strategy() { return strategy_; }
  const Layout& layout() const { return model.layout(); }

  Ledger activations{};
  Ledger ledger{};
  StepOutcome outcome{};

 private:
  Communicator& world_;
  Setup setup_;
  Stopwatch watch_{};

 public:
  Gpt model;

 private:
  Optimizer optimizer_;
  Strategy strategy_;
  std::size_t taken_ = 0;
};

/// Runs body(world, rig) on every rank.
template <class Body>
void train_on(int ranks, const Setup& setup, Body body) {
  test::with_world(ranks, {}, [&](Communicator& world) {
    Rig rig(world, setup);
    body(world, rig);
  });
}

/// The global losses of a run, as rank 0 saw them.
inline std::vector<test::Loss> losses_of(int ranks, const Setup& setup, std::size_t steps) {
  std::vector<test::Loss> losses;
  train_on(ranks, setup, [&](Communicator& world, Rig& rig) {
    for (std::size_t step = 1; step <= steps; ++step) {
      const double loss = rig.step();
      if (world.rank() == 0) losses.push_back({step, loss});
    }
  });
  return losses;
}

}  // namespace rondo::train
