#include "tools/trainer/report/log.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <utility>

#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* json_begin = " \"steps\": [";

/// JSON has null for numbers that it does not know.
Json fields_of(const StepRecord& step) {
  Json row{{"step", step.step}, {"loss", step.loss}, {"validation", Json(nullptr)}};
  if (step.validation) row["validation"] = *step.validation;
  row["norm"] = step.norm;
  row["rate"] = step.rate;
  row["loss_scale"] = step.loss_scale;
  row["skipped"] = step.skipped;
  for (std::size_t i = 0; i < phase_names.size(); ++i)
    row["seconds"][std::string(phase_names[i])] = step.phases[i];
  row["messages"] = step.traffic.messages;
  row["payload_bytes"] = step.traffic.payload_bytes;
  row["header_bytes"] = step.traffic.header_bytes;
  return row;
}

std::string csv_value(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return value.is_number_float() ? format("%.9g", value.get<double>()) : value.dump();
}

std::string csv_line(const StepRecord& step, bool names) {
  constexpr std::string_view seconds = "/seconds/";
  std::string line;
  const Json fields = fields_of(step).flatten();
  for (const auto& [path, value] : fields.items()) {
    const std::string name =
        path.starts_with(seconds) ? path.substr(seconds.size()) + "_s" : path.substr(1);
    line += (line.empty() ? "" : ",") + (names ? name : csv_value(value));
  }
  return line;
}

std::string csv_columns() { return csv_line({}, true); }

std::string json_row(const StepRecord& step) {
  Json row = fields_of(step);
  if (!step.validation) row.erase("validation");
  return "  " + row.dump();
}

/// The step of a complete row; nothing if the line is not one, for example cut off.
std::optional<std::size_t> step_of(std::string_view line, bool csv) {
  constexpr std::string_view json_row_begin = "  {\"step\":";
  const bool complete =
      csv ? std::ranges::count(line, ',') == std::ranges::count(csv_columns(), ',')
          : line.starts_with(json_row_begin) && line.ends_with("}");
  if (!csv && complete) line.remove_prefix(json_row_begin.size());
  std::size_t step = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), step);
  return complete && parsed.ec == std::errc() ? std::optional(step) : std::nullopt;
}

/// Up to the line before the rows.
std::string json_head(const RunRecord& run, std::size_t resumed) {
  Json head{{"ranks", run.ranks},
            {"strategy", run.strategy},
            {"parameters", run.parameters},
            {"targets_per_step", run.targets_per_step},
            {"settings", Json::parse(run.settings)}};
  if (resumed > 0) head["resumed_at"] = resumed;
  const std::string text = head.dump(1);
  return text.substr(0, text.rfind('\n')) + ",\n" + json_begin + "\n";
}

}  // namespace

StepLog::StepLog(std::string path, const RunRecord& run, std::size_t resumed)
    : path_(std::move(path)), resumed_(resumed) {
  head_ = csv_columns() + "\n";
  if (is_csv() || path_.empty()) return;
  head_ = json_head(run, resumed);
  between_ = ",\n";
  tail_ = "\n ]\n}\n";
}

/// Nothing if the file is not a log of this form, or another program has reformatted it: then no row
/// may get lost. Only the file's last line may be cut off.
std::optional<std::vector<std::string>> StepLog::rows_of(const std::string& file) const {
  std::istringstream lines(file);
  const std::string begin = is_csv() ? csv_columns() : json_begin;
  std::string line;
  do {
    if (!std::getline(lines, line)) return std::nullopt;
  } while (line != begin);
  std::vector<std::string> rows;
  while (std::getline(lines, line)) {
    const bool cut_off = lines.eof();  // a line that lacks its end
    if (cut_off || line.empty() || line.starts_with(" ]")) break;
    if (!is_csv() && line.ends_with(",")) line.pop_back();
    const auto step = step_of(line, is_csv());
    if (!step) return std::nullopt;
    if (*step > resumed_) break;
    rows.push_back(line + (is_csv() ? "\n" : ""));
  }
  return rows;
}

std::vector<std::string> StepLog::kept() const {
  if (resumed_ == 0 || !std::filesystem::exists(path_)) return {};
  auto rows = rows_of(read_whole(path_));
  if (rows) return std::move(*rows);
  reject("--log " + path_ + " is no log that a resumed run could go on with",
         "another --log, or delete that file");
}

void StepLog::check() const {
  if (path_.empty()) return;
  try_file(path_);
  kept();
}

// The old rows and the new head appear together, by renaming.
void StepLog::begin(const std::vector<StepRecord>& steps) {
  auto rows = kept();
  for (const StepRecord& step : steps) rows.push_back(row_of(step));
  std::string text = head_;
  for (std::size_t i = 0; i < rows.size(); ++i) text += (i == 0 ? "" : between_) + rows[i];
  file_.emplace(replace_file(path_, text + tail_));
  end_ = text.size();
}

// If the disk is full, the old end of the file is restored; that fits.
void StepLog::put(const std::string& text) {
  try {
    file_->write_at(end_, std::as_bytes(std::span(text)));
  } catch (const Error&) {
    file_->write_at(end_, std::as_bytes(std::span(tail_)));
    file_->truncate(end_ + tail_.size());
    throw;
  }
}

template <class Write>
void StepLog::go_on(const std::string& what, Write write) {
  if (path_.empty() || failure_) return;
  try {
    write();
  } catch (const Error& error) {
    failure_ = std::current_exception();
    std::cerr << "\nthe training goes on, its log ends before " << what << ": " << error.what()
              << std::endl;
  }
}

std::string StepLog::row_of(const StepRecord& step) const {
  return is_csv() ? csv_line(step, false) + "\n" : json_row(step);
}

void StepLog::replace(const std::vector<StepRecord>& steps) {
  go_on("step " + std::to_string(resumed_ + 1), [&] { begin(steps); });
}

void StepLog::append(const StepRecord& step) {
  go_on("step " + std::to_string(step.step), [&] {
    if (!file_) begin();
    const std::string row = (end_ > head_.size() ? between_ : "") + row_of(step);
    put(row + tail_);
    end_ += row.size();
  });
}

void StepLog::add_formulas(const std::vector<ValidationRow>& rows) {
  if (!file_ || is_csv()) return;
  std::string text = "\n ],\n \"formulas\": [";
  for (const ValidationRow& row : rows) {
    const Json json{{"what", row.what},           {"formula", row.formula},
                    {"predicted", row.predicted}, {"measured", row.measured},
                    {"unit", row.unit},           {"off_per_cent", row.difference()}};
    text += (&row == rows.data() ? "\n  " : ",\n  ") + json.dump();
  }
  go_on("its formulas", [&] { put(text + "\n ]\n}\n"); });
}

}  // namespace rondo::train
