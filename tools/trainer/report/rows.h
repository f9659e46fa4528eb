// The text of logs: the head, one line for each step, and the tail.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/trainer/report/record.h"
#include "tools/trainer/report/validation.h"

namespace rondo::train {

/// A kind of log. A file is the head, the rows, which are lines, and the tail. `between` comes
/// before each row but the first.
struct LogForm {
  std::string head{};
  std::string between{};
  std::string tail{};
  std::string (*row)(const StepRecord&) = nullptr;
  /// The step of a complete row; nothing if the line is not one, for example cut off.
  std::optional<std::size_t> (*step_of)(const std::string& line) = nullptr;
  /// Whether a file's line is the last before the rows.
  bool (*begins)(const std::string& line) = nullptr;
  /// Whether a file's line is the first after the rows.
  bool (*ends)(const std::string& line) = nullptr;
};

LogForm csv_form();
/// `resumed`: as StepLog has it.
LogForm json_form(const RunRecord& run, std::size_t resumed);
/// The tail of a JSON log with formulas.
std::string json_tail(const std::vector<ValidationRow>& rows);

/// The rows of `file` up to step `last`, unchanged. Nothing if the file is not a log of this form,
/// or another program has reformatted it: then no row may get lost. Only the file's last line may
/// be cut off.
std::optional<std::vector<std::string>> rows_up_to(const std::string& file, const LogForm& form,
                                                   std::size_t last);

}  // namespace rondo::train
