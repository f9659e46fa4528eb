// What a run leaves behind: the log, the picture, and where they lie.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "tools/trainer/options.h"
#include "tools/trainer/report/log.h"

namespace rondo::train {

/// Rank 0's. `options` outlives it. Errors are those of report/log.h.
class Files {
 public:
  /// `resumed`: the step that the run goes on from, 0 for none.
  Files(const Options& options, const RunRecord& record, std::size_t resumed);

  /// Finds out before the work, not after it, what cannot be written.
  void check() const;
  /// A log that cannot go on, as on a full disk, does not end the training: that is said now on
  /// standard error, and thrown by finish().
  void append(const StepRecord& step);
  /// As append().
  void add_formulas(const std::vector<ValidationRow>& rows);
  void plot(const std::vector<StepRecord>& steps) const;
  void finish() const;
  /// "log FILE, plot FILE, checkpoints DIR"; empty where there is none.
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
