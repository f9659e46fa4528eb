#include "tools/trainer/files.h"

#include <iostream>
#include <string>

namespace rondo::train {

Files::Files(const Options& options, const RunRecord& record, std::size_t resumed)
    : options_(options), record_(record) {
  if (!options_.log.empty()) log_.emplace(options_.log, record_, resumed);
}

void Files::check() const {
  if (log_) log_->check();
  if (!options_.plot.empty()) try_report(options_.plot);
}

template <class Write>
void Files::go_on(const std::string& what, Write write) {
  if (!log_ || failure_) return;
  try {
    write();
  } catch (const Error& error) {
    failure_ = std::current_exception();
    std::cerr << "\nthe training goes on, its log ends before " << what << ": " << error.what()
              << std::endl;
  }
}

void Files::append(const StepRecord& step) {
  go_on("step " + std::to_string(step.step), [&] { log_->append(step); });
}

void Files::add_formulas(const std::vector<ValidationRow>& rows) {
  go_on("its formulas", [&] { log_->add_formulas(rows); });
}

void Files::plot(const std::vector<StepRecord>& steps) const {
  if (!options_.plot.empty() && !steps.empty()) write_plot(options_.plot, record_, steps);
}

void Files::finish() const {
  if (failure_) std::rethrow_exception(failure_);
}

std::string Files::words() const {
  std::string text;
  const auto add = [&](const std::string& what, const std::string& path) {
    if (!path.empty()) text += (text.empty() ? "" : ", ") + what + " " + path;
  };
  add("log", options_.log);
  add("plot", options_.plot);
  add("checkpoints", options_.checkpoint.folder);
  return text;
}

}  // namespace rondo::train
