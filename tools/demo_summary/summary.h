// The closing text of tools/demo: what ran, which algorithm was chosen and why, how fast it was,
// and how that compares with copying memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::demo {

/// One size of the sweep, the better of out of place and in place.
struct Row {
  std::size_t bytes = 0;
  double microseconds = 0;
  double algbw = 0;      ///< GB/s
  double busbw = 0;      ///< GB/s
  std::string choice{};  ///< Communicator::describe() for this size
};

struct Sweep {
  int ranks = 0;
  std::string type{};  ///< "float32" or nccl-tests' "float"
  std::string reduction{};
  std::vector<Row> rows{};  ///< ascending sizes
  std::size_t wrong = 0;    ///< elements found wrong over the whole sweep
  /// Seconds for every rank to memcpy a buffer of the largest size, all at once, worst rank.
  double copy_seconds = 0;
};

/// Reads a report of all_reduce_perf -J. Choices and copy_seconds stay empty.
/// Throws rondo::Error{invalid_argument} when the report lacks a field.
Sweep read_report(std::string_view json, int ranks);

/// "64 B", "4 KiB", "2.5 MiB".
std::string human_bytes(std::size_t bytes);

/// The text a person reads. `cores` of this machine.
std::string summary(const Sweep& sweep, unsigned cores);

}  // namespace rondo::demo
