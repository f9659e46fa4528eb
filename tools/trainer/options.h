// What rondo-train can be asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/trainer/checkpoint/options.h"
#include "tools/trainer/model/model.h"
#include "tools/trainer/optimize/optimizer.h"
#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

/// How much of a run is held against formulas.
enum class Formulas : unsigned char {
  none,
  brief,  ///< bytes, messages and memory: nothing is done for it
  full,   ///< time, overlap, speed-up and bandwidth, too: communication is timed alone at the end
};

/// Equal on every rank. Counts of samples are of the global batch.
struct Options {
  ModelOptions model{};  ///< inputs and outputs come from the data
  std::string data{};    ///< a text file; empty: the built-in text. Not for the mlp
  std::size_t block = 64;
  std::size_t points = 4000;  ///< of the mlp's spirals
  std::size_t classes = 3;

  OptimizerOptions optimizer{};
  LearningRate rate{.peak = 4e-3, .floor = 4e-4, .warm_up = 20, .steps = 400};
  double clip = 1;  ///< largest global norm of the gradient; 0: none
  StrategyOptions strategy{};
  double loss_scale = 65536;  ///< fp16 only: where it starts

  std::size_t steps = 400;
  std::size_t batch = 24;
  std::size_t accumulate = 1;  ///< micro-steps a step
  std::uint64_t seed = 1;
  bool shuffle = true;
  bool drop_last = true;
  std::size_t validate_every = 100;  ///< steps; 0: never
  std::size_t check_every = 100;     ///< steps between comparisons of the ranks' parameters
  std::size_t memory_limit = 0;      ///< bytes a rank; 0: none
  int threads = 1;                   ///< of matrix products
  std::string device = "cpu";        ///< what ranks compute on: cpu or gpu

  CheckpointOptions checkpoint{};
  bool validate =
      false;  ///< every formula, and nothing that would disturb it; calls go round rings
  Formulas formulas = Formulas::brief;  ///< beside what is measured, at the end; validate: full
  std::string profile{};                ///< of `rondo calibrate`: what the link can carry
  std::string log{};                    ///< .csv or .json
  std::string plot{};                   ///< .svg
  std::size_t sample = 0;
  std::string prompt{};  ///< empty: a line begins
  double temperature = 0.5;
  std::string progress = "auto";  ///< auto, bar, lines or none
};

/// Every setting that shapes the training, by name, as JSON: what a log records.
std::string settings_json(const Options& options);
/// These, and the others that ranks must have in common to call the same things: what they compare.
std::string common_settings(const Options& options);

/// From main()'s arguments; `leave` is the exit status where help or a mistake ends the program
/// (said on standard output or error by `speaks`), else negative.
struct CommandLine {
  Options options{};
  int leave = -1;
};
CommandLine read_command_line(int argc, char** argv, bool speaks);

}  // namespace rondo::train
