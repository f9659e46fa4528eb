// Writes each step to a CSV or JSON file when the step ends. A run that is killed leaves all its
// steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/trainer/checkpoint/file.h"
#include "tools/trainer/report/record.h"
#include "tools/trainer/report/rows.h"
#include "tools/trainer/report/validation.h"

namespace rondo::train {

/// Belongs to one rank. The first step opens the file, so a run that has nothing to do leaves an
/// earlier log alone. The file is complete after every step, JSON too: each row overwrites the
/// closing brackets and is followed by new ones. Errors are Error{system} or
/// Error{invalid_argument} and name the file.
class StepLog {
 public:
  /// `path` ends in .csv or .json. `resumed`: the step from which this run continues, 0 for none.
  /// Rows of earlier runs up to that step are kept. Later rows are dropped, since their steps are
  /// trained again.
  StepLog(std::string path, const RunRecord& run, std::size_t resumed);

  /// Throws the error of the first append(), as far as it can be known before.
  void check() const;
  void append(const StepRecord& step);
  /// Called after the last step; JSON only.
  void add_formulas(const std::vector<ValidationRow>& rows);

 private:
  std::vector<std::string> kept() const;
  void begin();
  void put(const std::string& text);

  std::string path_;
  std::size_t resumed_;
  LogForm form_;
  std::optional<File> file_{};
  std::uint64_t end_ = 0;  ///< end of the rows: where the next one goes
  bool has_rows_ = false;
};

/// Throws Error{system} if write_plot(path) would, as far as that can be known before. An existing
/// file `path` stays as it is.
void try_report(const std::string& path);
/// Writes the plot, completely or not at all. Throws Error{system}.
void write_plot(const std::string& path, const RunRecord& run,
                const std::vector<StepRecord>& steps);

}  // namespace rondo::train
