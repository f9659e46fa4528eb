// A model and a strategy without data and steps.
#pragma once

#include "tools/trainer/model/gpt.h"
#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

/// Belongs to one rank.
struct Bare {
  Bare(Communicator& world, const ModelOptions& options, const StrategyOptions& kind = {},
       const Machine& machine = host_machine())
      : activations(machine),
        ledger(machine),
        model(options, activations),
        optimizer({.kind = "sgd"}, model.layout()),
        strategy({world, model.layout(), optimizer, ledger, watch}, kind) {
    strategy.start(5);
  }

  /// Adds up the gradient of a batch's loss, and returns the loss.
  double learn(const Batch& batch, double scale) {
    strategy.begin_step();
    strategy.begin_micro_step(true);
    const double loss = model.forward(batch, strategy);
    model.backward(batch, strategy, scale);
    strategy.end_micro_step();
    return loss;
  }

  Ledger activations, ledger;
  Stopwatch watch{};
  Gpt model;
  Optimizer optimizer;
  Strategy strategy;
};

}  // namespace rondo::train
