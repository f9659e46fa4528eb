// A model and a strategy without data and steps.
#pragma once

#include "tools/trainer/model/gpt.h"
#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

/// Belongs to one rank.
struct Bare {
  Bare(Communicator& world, const ModelOptions& options, const StrategyOptions& kind = {})
      : model(options, activations),
        optimizer({.kind = "sgd"}, model.layout()),
        strategy({world, model.layout(), optimizer, ledger, watch}, kind) {
    strategy.start(5);
  }

  Ledger activations{}, ledger{};
  Stopwatch watch{};
  Gpt model;
  Optimizer optimizer;
  Strategy strategy;
};

}  // namespace rondo::train
