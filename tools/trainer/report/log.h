// Writes each step to a CSV file when the step ends. A run that is killed leaves all its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/trainer/checkpoint/file.h"
#include "tools/trainer/report/record.h"

namespace rondo::train {

/// Belongs to one rank. The first step opens the file, so a run that has nothing to do leaves an
/// earlier log alone. A log that can no longer be written, for example on a full disk, does not end
/// the training: the error is printed now, to standard error, and thrown by finish().
class StepLog {
 public:
  /// `path`: empty: nothing is written. `resumed`: the step from which this run continues, 0 for
  /// none. Rows of earlier runs up to that step are kept. Later rows are dropped, since their steps
  /// are trained again.
  StepLog(std::string path, std::size_t resumed) : path_(std::move(path)), resumed_(resumed) {}

  /// Throws the error of the first append(), as far as it can be known before: Error{system}, or
  /// Error{invalid_argument} if the file is not a log with which a resumed run can go on.
  void check() const;
  void append(const StepRecord& step);
  /// Instead of the first append(): the rows behind the resumed step become these, at once.
  void replace(const std::vector<StepRecord>& steps);
  void finish() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::string kept() const;
  void begin(const std::vector<StepRecord>& steps = {});
  template <class Write>
  void go_on(std::size_t step, Write write);

  std::string path_;
  std::size_t resumed_;
  std::optional<File> file_{};
  std::uint64_t end_ = 0;  ///< of the rows: where the next one goes
  std::exception_ptr failure_{};
};

/// The loss, and where the time of the steps went: a complete SVG document, readable on light and dark
/// pages.
std::string plot_svg(const RunRecord& run, const std::vector<StepRecord>& steps);

}  // namespace rondo::train
