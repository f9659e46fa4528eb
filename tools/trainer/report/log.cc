#include "tools/trainer/report/log.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string_view>

#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

/// The names of the columns.
std::string head() {
  std::string names = "step,loss,validation,norm,rate,loss_scale,skipped";
  for (const std::string_view phase : phase_names) names += "," + std::string(phase) + "_s";
  return names + ",messages,payload_bytes,header_bytes";
}

std::string row_of(const StepRecord& step) {
  const auto number = [](double value) { return format(",%.9g", value); };
  std::string row = std::to_string(step.step) + number(step.loss) +
                    (step.validation ? number(*step.validation) : ",") + number(step.norm) +
                    number(step.rate) + number(step.loss_scale) + (step.skipped ? ",1" : ",0");
  for (const double seconds : step.phases) row += number(seconds);
  for (const std::uint64_t count :
       {step.traffic.messages, step.traffic.payload_bytes, step.traffic.header_bytes})
    row += "," + std::to_string(count);
  return row + "\n";
}

/// The step of a complete row; nothing if the line is not one.
std::optional<std::size_t> step_of(std::string_view line) {
  std::size_t step = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), step);
  const bool complete = std::ranges::count(line, ',') == std::ranges::count(head(), ',');
  return complete && parsed.ec == std::errc() ? std::optional(step) : std::nullopt;
}

/// A log's rows up to a step, unchanged. Nothing if the file is not a log, or another program has
/// changed it: then no row may get lost. Only the file's last line may be cut off.
std::optional<std::string> rows_of(const std::string& file, std::size_t last) {
  std::istringstream lines(file);
  std::string line, rows;
  if (!std::getline(lines, line) || line != head()) return std::nullopt;
  while (std::getline(lines, line) && !lines.eof() && !line.empty()) {
    const auto step = step_of(line);
    if (!step) return std::nullopt;
    if (*step > last) break;
    rows += line + "\n";
  }
  return rows;
}

}  // namespace

std::string StepLog::kept() const {
  if (resumed_ == 0 || !std::filesystem::exists(path_)) return "";
  if (auto rows = rows_of(read_whole(path_), resumed_)) return std::move(*rows);
  reject("--log " + path_ + " is no log that a resumed run could go on with",
         "another --log, or delete that file");
}

void StepLog::check() const {
  if (path_.empty()) return;
  try_file(path_);
  kept();
}

// The old rows and the new ones appear together, by renaming.
void StepLog::begin(const std::vector<StepRecord>& steps) {
  std::string text = head() + "\n" + kept();
  for (const StepRecord& step : steps) text += row_of(step);
  file_.emplace(replace_file(path_, text));
  end_ = text.size();
}

/// `step`: the first one that is not in the log if `write` fails.
template <class Write>
void StepLog::go_on(std::size_t step, Write write) {
  if (path_.empty() || failure_) return;
  try {
    write();
  } catch (const Error& error) {
    failure_ = std::current_exception();
    std::cerr << "\nthe training goes on, its log ends before step " << step << ": " << error.what()
              << std::endl;
  }
}

void StepLog::replace(const std::vector<StepRecord>& steps) {
  go_on(resumed_ + 1, [&] { begin(steps); });
}

void StepLog::append(const StepRecord& step) {
  go_on(step.step, [&] {
    if (!file_) begin();
    const std::string row = row_of(step);
    try {
      file_->write_at(end_, std::as_bytes(std::span(row)));
    } catch (const Error&) {
      file_->truncate(end_);  // without the part of a row
      throw;
    }
    end_ += row.size();
  });
}

}  // namespace rondo::train
