// What tests of elastic trainings share.
#pragma once

#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tests/ports.h"
#include "tests/support/processes.h"
#include "tests/support/setting.h"
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

/// What body(world) returns on each rank, which is a process; "" where it was killed.
template <class Body>
std::vector<std::string> reports_of(int ranks, const std::string& transport, Body body) {
  const int port = free_port();
  return run_ranks(ranks, [&](int rank) {
    const Setting own("RANK", std::to_string(rank));
    const Setting all("WORLD_SIZE", std::to_string(ranks));
    const Setting address("MASTER_ADDR", "127.0.0.1");
    const Setting place("MASTER_PORT", std::to_string(port));
    auto world = Communicator::from_environment({.transport = transport});
    return body(world);
  });
}

}  // namespace rondo::test
