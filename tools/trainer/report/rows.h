// The text of logs: heads, and one line for each step.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/trainer/report/record.h"
#include "tools/trainer/report/validation.h"

namespace rondo::train {

/// A kind of log. Rows are lines; a file is head, rows with `between` before each but the first,
/// and tail.
struct LogForm {
  std::string head{};
  std::string between{};
  std::string tail{};
  std::string (*row)(const StepRecord&) = nullptr;
  /// The step of a whole row's line; nothing where the line is none, as one that was cut off.
  std::optional<std::size_t> (*step_of)(const std::string& line) = nullptr;
  /// Whether a file's line is the last before the rows.
  bool (*begins)(const std::string& line) = nullptr;
  /// Whether a file's line is the first behind the rows.
  bool (*ends)(const std::string& line) = nullptr;
};

LogForm csv_form();
/// `resumed`: as StepLog has it.
LogForm json_form(const RunRecord& run, std::size_t resumed);
/// What stands behind the rows of a JSON log with formulas.
std::string json_tail(const std::vector<ValidationRow>& rows);

/// The rows of `file` up to step `last`, as they stand there. Nothing where it is no log of this
/// form, or one that something else has laid out anew: none of its rows may get lost. Only the
/// file's last line may be cut off.
std::optional<std::vector<std::string>> rows_up_to(const std::string& file, const LogForm& form,
                                                   std::size_t last);

}  // namespace rondo::train
