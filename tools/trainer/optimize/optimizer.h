// Optimizers over flat ranges of the model, so that a shard is just a range.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tools/trainer/model/unit.h"

namespace rondo::train {

class Machine;

/// Equal on every rank.
struct OptimizerOptions {
  std::string kind = "adamw";  ///< "sgd" or "adamw"
  double momentum = 0.9;       ///< sgd
  double beta1 = 0.9;          ///< adamw: decay of the first moment
  double beta2 = 0.99;         ///< adamw: decay of the second moment
  double epsilon = 1e-8;       ///< adamw
  double weight_decay = 0.1;   ///< of matrices; decoupled in adamw, added to the gradient in sgd
};

/// One range [begin, begin + parameters.size()) of the flat model. All spans have its length;
/// `states` holds Optimizer::states() of them, zero before the first step.
struct Range {
  std::size_t begin = 0;
  std::span<float> parameters{};  ///< float32: the master weights where parameters are narrower
  std::span<const float> gradients{};
  std::vector<std::span<float>> states{};

  /// `count` elements from the `first` on. Empty spans stay empty.
  Range part(std::size_t first, std::size_t count) const;
};

/// The numbers of one step, for all ranges.
struct Step {
  std::size_t number = 1;     ///< from 1; skipped steps do not count
  double learning_rate = 0;   ///< of this step
  double gradient_scale = 1;  ///< gradients are multiplied by it first: clipping and loss scale
};

/// Holds no values itself: update() is a pure function of its arguments. Any thread.
class Optimizer {
 public:
  /// Throws Error{invalid_argument} for an unknown kind or numbers out of range.
  Optimizer(const OptimizerOptions& options, const Layout& layout);
  /// Floats of state for each parameter: 0 or 1 with sgd, 2 with adamw.
  std::size_t states() const;
  /// Takes one step on a range in the machine's memory, which may begin and end anywhere.
  void update(const Machine& machine, const Range& range, const Step& step) const;

 private:
  struct Run {
    std::size_t end;  ///< in the flat model
    bool decays;
  };
  void launch(const Machine& machine, const Range& run, const Step& step, bool decays) const;

  OptimizerOptions options_;
  std::vector<Run> runs_{};  ///< ascending; neighbours differ in `decays`
};

/// Linear warm-up to `peak` over `warm_up` steps, then a cosine down to `floor` at step `steps`.
struct LearningRate {
  double peak = 1e-3;
  double floor = 1e-4;
  std::size_t warm_up = 0;
  std::size_t steps = 1;

  /// `step` from 0.
  double at(std::size_t step) const;
};

/// The factor that brings a gradient of global norm `norm` to at most `limit`; 1 if `limit` is 0.
double clip_scale(double norm, double limit);

}  // namespace rondo::train
