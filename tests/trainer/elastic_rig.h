// What tests of elastic trainings share.
#pragma once

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
  options.formulas = "none";
  options.checkpoint = {.folder = folder, .every = every};
  return options;
}

/// The losses of one rank that nobody disturbs.
inline std::vector<Loss> losses_alone() {
  auto options = elastic_options("ddp");
  options.elastic = false;
  return losses_of(1, options);
}

/// Throws unless these are the steps and losses, up to rounding.
inline void must_be(const std::vector<train::StepRecord>& steps,
                    const std::vector<Loss>& expected) {
  const std::string words = difference(losses_of(steps), expected);
  expect_that(words.empty(), "the losses of one rank: " + words);
}

}  // namespace rondo::test
