// The files of a run: the log and the plot.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "tools/trainer/options.h"
#include "tools/trainer/report/log.h"

namespace rondo::train {

/// Used by rank 0. `options` outlives it. Errors are those of report/log.h.
class Files {
 public:
  /// `resumed`: the step from which the run continues; 0 for none.
  Files(const Options& options, const RunRecord& record, std::size_t resumed);

  /// Checks before the training that the files can be written.
  void check() const;
  /// A log that can no longer be written, for example on a full disk, does not end the training.
  /// The error is printed now, to standard error, and thrown by finish().
  void append(const StepRecord& step);
  /// As append().
  void add_formulas(const std::vector<ValidationRow>& rows);
  void plot(const std::vector<StepRecord>& steps) const;
  void finish() const;
  /// "log FILE, plot FILE, checkpoints DIR"; empty if there are none.
  std::string words() const;

 private:
  template <class Write>
  void go_on(const std::string& what, Write write);

  const Options& options_;
  RunRecord record_;
  std::optional<StepLog> log_{};
  std::exception_ptr failure_{};
};

}  // namespace rondo::train
