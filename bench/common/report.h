// The results of a run as values; table.h and json_report.h turn them into text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rondo::bench {

/// One rank, for the header.
struct Device {
  int rank = 0;
  int group = 0;
  int pid = 0;
  std::string host{};
  int device = 0;       ///< the rank's number within its process
  std::string model{};  ///< the CPU
};

/// Times of single iterations in seconds (-I).
struct IterationTimes {
  int skipped = 0;
  std::vector<double> longest{};               ///< per iteration, over all ranks
  std::vector<std::vector<double>> process{};  ///< per process and iteration, over its threads
};

/// Half a row of the table.
struct Measurement {
  double seconds = 0;
  double algbw = 0;
  double busbw = 0;
  std::optional<std::size_t> wrong{};  ///< summed over ranks; unset: not checked
  std::optional<IterationTimes> iterations{};
};

struct Row {
  std::size_t bytes = 0;
  std::size_t count = 0;
  std::string type{};
  std::string redop{};
  int root = -1;
  std::optional<Measurement> out_of_place{};
  std::optional<Measurement> in_place{};  ///< unset: the collective has no in-place form
  std::string timestamp{};
};

struct Summary {
  std::size_t failures = 0;            ///< half rows with anything wrong
  double average_busbw = 0;            ///< over all half rows
  std::optional<double> required{};    ///< NCCL_TESTS_MIN_BW
  std::vector<std::string> choices{};  ///< which algorithm and transport ran at which sizes
  std::vector<std::string> errors{};

  bool fast_enough() const { return !required || average_busbw >= *required * 0.9; }
  bool okay() const { return failures == 0 && fast_enough() && errors.empty(); }
};

}  // namespace rondo::bench
