// Small trainings on ranks that are threads, and the comparison of their losses.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/support/threads.h"
#include "tools/trainer/agreement.h"
#include "tools/trainer/run.h"

namespace rondo::test {

struct Loss {
  std::size_t step = 0;
  double loss = 0;

  friend bool operator==(const Loss&, const Loss&) = default;
};

template <class Record>
std::vector<Loss> losses_of(const std::vector<Record>& steps) {
  std::vector<Loss> losses;
  for (const Record& step : steps) losses.push_back({step.step, step.loss});
  return losses;
}

/// Of a log, whose first two columns they are. A last line that lacks its end is no row.
inline std::vector<Loss> losses_in(const std::string& log) {
  std::vector<Loss> losses;
  std::istringstream lines(log);
  std::string line;
  std::getline(lines, line);  // names of columns
  while (std::getline(lines, line) && !lines.eof()) {
    Loss row;
    char comma = ' ';
    std::istringstream(line) >> row.step >> comma >> row.loss;
    losses.push_back(row);
  }
  return losses;
}

/// Empty if steps and losses are the same, up to rounding. Else says where they differ.
inline std::string difference(const std::vector<Loss>& losses, const std::vector<Loss>& expected) {
  std::ostringstream words;
  if (losses.size() != expected.size()) words << losses.size() << " for " << expected.size();
  for (std::size_t i = 0; words.str().empty() && i < losses.size(); ++i) {
    const auto& [step, loss] = losses[i];
    const bool close = std::fabs(loss - expected[i].loss) < 1e-5 * expected[i].loss;
    if (step == expected[i].step && close) continue;
    words.precision(12);
    words << "step " << step << ": " << loss << " for " << expected[i].loss << " of step "
          << expected[i].step;
  }
  return words.str();
}

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
