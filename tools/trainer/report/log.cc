#include "tools/trainer/report/log.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "rondo/error.h"
#include "tools/trainer/report/plot.h"
#include "tools/trainer/report/rows.h"

namespace rondo::train {
namespace {

std::string unfinished(const std::string& path) { return path + ".unfinished"; }

[[noreturn]] void cannot_write(const std::string& path) {
  std::remove(unfinished(path).c_str());
  throw Error(ErrorCode::system, "cannot write " + path,
              {.remedy = "a folder that exists, may be written to and is not full"});
}

void replace(const std::string& path, const std::string& text) {
  std::ofstream out(unfinished(path), std::ios::binary);
  out << text;
  out.close();
  if (!out || std::rename(unfinished(path).c_str(), path.c_str()) != 0) cannot_write(path);
}

}  // namespace

StepLog::StepLog(std::string path, const RunRecord& run, std::size_t resumed)
    : path_(std::move(path)),
      resumed_(resumed),
      form_(path_.ends_with(".csv") ? csv_form() : json_form(run, resumed)) {}

// If the disk is full, the old end of the file is restored; that fits.
void StepLog::put(const std::string& text) {
  try {
    file_->write_at(end_, std::as_bytes(std::span(text)));
  } catch (const Error&) {
    file_->write_at(end_, std::as_bytes(std::span(form_.tail)));
    file_->truncate(end_ + form_.tail.size());
    throw;
  }
}

std::vector<std::string> StepLog::kept() const {
  if (resumed_ == 0 || !std::filesystem::exists(path_)) return {};
  auto rows = rows_up_to(read_whole(path_), form_, resumed_);
  if (rows) return std::move(*rows);
  throw Error(ErrorCode::invalid_argument,
              "--log " + path_ + " is no log that a resumed run could go on with",
              {.remedy = "another --log, or delete that file"});
}

void StepLog::check() const {
  try_report(path_);
  kept();
}

// The old rows and the new head appear together, by renaming.
void StepLog::begin() {
  const auto rows = kept();
  std::string text = form_.head;
  for (std::size_t i = 0; i < rows.size(); ++i) text += (i == 0 ? "" : form_.between) + rows[i];
  replace(path_, text + form_.tail);
  file_.emplace(File::open_to_write(path_));
  end_ = text.size();
  has_rows_ = !rows.empty();
}

void StepLog::append(const StepRecord& step) {
  if (!file_) begin();
  const std::string row = (has_rows_ ? form_.between : "") + form_.row(step);
  put(row + form_.tail);
  end_ += row.size();
  has_rows_ = true;
}

void StepLog::add_formulas(const std::vector<ValidationRow>& rows) {
  if (file_ && path_.ends_with(".json")) put(json_tail(rows));
}

void try_report(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorCode::system, "cannot write " + path + ": it is a folder",
                {.remedy = "the name of a file in it"});
  }
  std::ofstream out(unfinished(path), std::ios::binary);
  if (!out) cannot_write(path);
  out.close();
  std::remove(unfinished(path).c_str());
}

void write_plot(const std::string& path, const RunRecord& run,
                const std::vector<StepRecord>& steps) {
  replace(path, plot_svg(run, steps));
}

}  // namespace rondo::train
