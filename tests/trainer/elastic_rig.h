// What tests of elastic trainings share.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tests/trainer/train.h"

namespace rondo::test {

/// 20 steps, in which rounding stays small. `every`: steps between checkpoints, if there is a folder.
inline train::Options elastic_options(const std::string& strategy, const std::string& folder = "",
                                      std::size_t every = 3) {
  auto options = small_gpt_options();
  options.optimizer = {.kind = "sgd", .momentum = 0.9, .weight_decay = 0.01};
  options.strategy.kind = strategy;
  options.elastic = true;
  options.progress = "lines";
  options.formulas = train::Formulas::none;
  options.checkpoint = {.folder = folder, .every = every};
  return options;
}

/// The steps of one rank that nobody disturbs.
inline std::vector<train::StepRecord> steps_alone() {
  auto options = elastic_options("ddp");
  options.elastic = false;
  return train_on(1, options).steps;
}

/// Throws unless steps and losses are the same, up to rounding.
inline void must_be(const std::vector<train::StepRecord>& steps,
                    const std::vector<train::StepRecord>& expected) {
  must(steps.size() == expected.size(), "number of steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    must(steps[i].step == expected[i].step, "a step");
    must(std::fabs(steps[i].loss - expected[i].loss) < 1e-5 * expected[i].loss, "a loss");
  }
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace rondo::test
