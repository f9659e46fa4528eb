// The command line of every bench program: nccl-tests' options, and a few of rondo's own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/command.h"
#include "bench/common/count_pattern.h"
#include "rondo/types.h"

namespace rondo::bench {

/// How the ranks' times become one (-a).
enum class Average { rank0, mean, min, max };

/// One of the type and operator pairs of a sweep.
struct Kinds {
  DataType type;
  ReduceOperator op;
};

/// Value type. The comments name the option.
struct Options {
  int threads = 1;                                    ///< -t: ranks as threads of this process
  std::size_t minimum_bytes = std::size_t{32} << 20;  ///< -b
  std::size_t maximum_bytes = std::size_t{32} << 20;  ///< -e
  std::size_t step_bytes = std::size_t{1} << 20;      ///< -i
  std::size_t step_factor = 1;                        ///< -f; 1: linear
  int iterations = 20;                                ///< -n
  int aggregated = 1;                                 ///< -m: calls issued together
  int warmup = 1;                                     ///< -w
  int cycles = 1;                                     ///< -N; 0: for ever
  int checks = 1;                                     ///< -c; 0: off
  std::vector<ReduceOperator> operators{ReduceOperator::sum};  ///< -o
  std::vector<DataType> types{DataType::float32};              ///< -d
  int root = 0;                                                ///< -r; -1: all
  int blocking = 0;                                            ///< -z
  int timeout_seconds = 0;                                     ///< -T; 0: rondo's own
  bool cpu_time = false;                                       ///< -C
  bool timestamps = false;                                     ///< -S
  std::string output_file{};                                   ///< -J
  Average average = Average::mean;                             ///< -a
  std::size_t misalign = 0;                                    ///< -u: elements
  bool per_iteration = false;                                  ///< -I
  int per_iteration_skip = 0;                                  ///< -K
  bool fresh = true;                                           ///< --fresh
  std::string algorithm{};                                     ///< --algorithm
  std::string schedule{};                                      ///< --schedule
  std::string transport{};                                     ///< --transport
  std::optional<bool> reproducible{};                          ///< --reproducible
  std::optional<bool> accumulate_wide{};                       ///< --accumulate
  std::optional<bool> checksum{};                              ///< --checksum
  std::optional<CountPattern> count_pattern{};                 ///< --counts: ragged calls
  std::vector<std::string> notes{};  ///< one line for each option that does nothing here

  /// The sizes of the sweep, in order.
  std::vector<std::size_t> sizes() const;
  /// The types, each with every operator that applies to it, in order. A program that does not
  /// reduce gets one operator for each type. Never empty for options from parse_options().
  std::vector<Kinds> kinds(Collective collective) const;
};

/// Returns a status and a message where no operator applies to the collective and any type.
Command<Options> parse_options(std::string_view program, Collective collective, int argc,
                               const char* const* argv);

}  // namespace rondo::bench
