// Small trainings on ranks that are threads.
#pragma once

#include <concepts>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/support/threads.h"
#include "tests/trainer/losses.h"
#include "tools/trainer/agreement.h"
#include "tools/trainer/run.h"

namespace rondo::test {

/// A GPT that takes some milliseconds a step: 12 samples of 16 characters of the built-in text.
inline train::Options small_gpt_options() {
  train::Options options;
  options.model.layers = 2;
  options.model.heads = 2;
  options.model.width = 32;
  options.block = 16;
  options.batch = 12;
  options.steps = 20;
  options.rate = {.peak = 5e-3, .floor = 5e-4, .warm_up = 2, .steps = 20};
  options.strategy.bucket_bytes = 20'000;
  options.validate_every = 0;
  options.check_every = 10;
  options.progress = "none";
  return options;
}

/// Rank 0's records and output.
struct Trained {
  std::vector<train::StepRecord> steps{};
  std::string text{};
};
inline Trained train_on(int ranks, const train::Options& options, const Options& calls = {}) {
  Trained trained;
  std::ostringstream out;
  with_world(ranks, calls, [&](Communicator& world) {
    auto steps = train::run(options, world, out);
    if (world.rank() == 0) trained.steps = std::move(steps);
  });
  trained.text = out.str();
  return trained;
}
inline std::vector<Loss> losses_of(int ranks, const train::Options& options) {
  return losses_of(train_on(ranks, options).steps);
}

/// The error that all ranks throw alike, in a body like with_world()'s; empty: none.
template <std::invocable<Communicator&> Body>
std::string refusal(int ranks, Body&& body) {
  std::vector<std::string> words(static_cast<std::size_t>(ranks));
  with_world(ranks, {}, [&](Communicator& world) {
    try {
      body(world);
    } catch (const train::AgreedError& error) {
      words[static_cast<std::size_t>(world.rank())] = error.what();
    }
  });
  for (const std::string& other : words) CHECK(other == words[0]);
  return words[0];
}
/// Of a run with these options.
inline std::string refusal(int ranks, const train::Options& options) {
  return refusal(ranks, [&](Communicator& world) {
    std::ostringstream out;
    train::run(options, world, out);
  });
}

}  // namespace rondo::test
