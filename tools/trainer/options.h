// The options of rondo-train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/trainer/checkpoint/checkpoints.h"
#include "tools/trainer/model/gpt.h"

namespace rondo::train {

/// Equal on every rank. Counts of samples are of the global batch. options.cc says more about each.
struct Options {
  ModelOptions model{};  ///< inputs and outputs come from the text
  std::string data{};    ///< a text file; empty: the built-in text
  std::size_t block = 64;

  OptimizerOptions optimizer{};
  LearningRate rate{.peak = 4e-3, .floor = 4e-4, .warm_up = 20, .steps = 400};
  double clip = 1;  ///< largest global norm of the gradient; 0: none
  StrategyOptions strategy{};
  double loss_scale = 65536;  ///< fp16 only: the first one

  std::size_t steps = 400;
  std::size_t batch = 24;
  std::size_t accumulate = 1;  ///< micro-steps a step
  std::uint64_t seed = 1;
  bool shuffle = true;
  bool drop_last = true;
  std::size_t validate_every = 100;  ///< steps; 0: never
  std::size_t check_every = 100;     ///< steps between comparisons of the ranks' parameters
  std::size_t memory_limit = 0;      ///< bytes a rank; 0: none
  int threads = 1;                   ///< for matrix products
  std::string device = "cpu";        ///< where ranks compute: cpu or gpu

  CheckpointOptions checkpoint{};
  bool elastic = false;  ///< goes on when ranks die, and takes in others
  bool join = false;     ///< this process joins a training that runs; differs between ranks
  /// Every formula, and nothing that would disturb the measurement. Calls go round rings.
  bool validate = false;
  std::string formulas = "brief";  ///< shown at the end: none, brief or full
  std::string profile{};           ///< from `rondo calibrate`: what the link can carry
  std::string log{};               ///< .csv
  std::string plot{};              ///< .svg
  std::size_t sample = 0;
  std::string prompt{};  ///< empty: start with a new line
  double temperature = 0.5;
  std::string progress = "lines";  ///< or none
};

/// Every setting that must be equal on all ranks, by name, as JSON.
std::string settings_json(const Options& options);

/// Reads main()'s arguments. `leave` is the exit status if help or a mistake ends the program,
/// otherwise negative. With `speaks` the help or the mistake is printed. An option that has no
/// effect in this training is a mistake.
struct CommandLine {
  Options options{};
  int leave = -1;
};
CommandLine read_command_line(int argc, const char* const* argv, bool speaks);

}  // namespace rondo::train
