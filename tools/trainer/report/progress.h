// The output while training goes on.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/report/record.h"

namespace rondo::train {

enum class ProgressStyle : unsigned char { bar, lines, none };

/// Used by rank 0.
class Progress {
 public:
  /// `columns`: width of the terminal, for a bar; 0: unlimited.
  Progress(std::ostream& out, ProgressStyle style, RunRecord run, std::size_t columns = 0);

  void start();
  /// A line of its own, also where there is a bar.
  void say(const std::string& text);
  /// Call it after every step, with all steps so far.
  void show(const std::vector<StepRecord>& steps);
  /// Prints the summary, or that all steps had been done before.
  void finish(const std::vector<StepRecord>& steps, const Ledger& memory);

 private:
  std::string line(const std::vector<StepRecord>& steps, bool with_bar) const;

  std::ostream& out_;
  ProgressStyle style_;
  RunRecord run_;
  std::size_t columns_;
};

/// "1:05" or "2:03:09".
std::string clock_text(double seconds);
/// "950", "41.2k", "3.1M".
std::string count_text(double count);

}  // namespace rondo::train
