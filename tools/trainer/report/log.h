// Every step in a file, CSV or JSON, as the steps end: a run that is killed leaves all of them.
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

/// One rank's. The file is touched with the first step only: what an earlier run left stays where
/// nothing was left to do. It is whole after every step, JSON too: each row is written over the
/// closing brackets, with new ones behind it. Errors are Error{system} or Error{invalid_argument}
/// that name the file.
class StepLog {
 public:
  /// `path` ends in .csv or .json. `resumed`: the step that this run goes on from, 0 for none: rows
  /// of earlier runs up to it are kept, later ones were of steps that are trained again.
  StepLog(std::string path, const RunRecord& run, std::size_t resumed);

  /// Throws what the first append() would, as far as can be known before.
  void check() const;
  void append(const StepRecord& step);
  /// Behind the last step; JSON only.
  void add_formulas(const std::vector<ValidationRow>& rows);

 private:
  std::vector<std::string> kept() const;
  void begin();
  void put(const std::string& text);

  std::string path_;
  std::size_t resumed_;
  LogForm form_;
  std::optional<File> file_{};
  std::uint64_t end_ = 0;  ///< of the rows: where the next one goes
  bool has_rows_ = false;
};

/// Throws Error{system} where write_plot(path) would, as far as can be known before; what `path`
/// already names stays as it is.
void try_report(const std::string& path);
/// Writes the picture, whole or not at all. Throws Error{system}.
void write_plot(const std::string& path, const RunRecord& run,
                const std::vector<StepRecord>& steps);

}  // namespace rondo::train
