#include "tools/trainer/report/progress.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

double total_seconds(const std::vector<StepRecord>& steps) {
  double sum = 0;
  for (const StepRecord& step : steps) sum += step.seconds();
  return sum;
}

/// Averages over the last steps.
struct Share {
  Share(const RunRecord& run, const std::vector<StepRecord>& steps, std::size_t last) {
    const std::size_t count = std::min(last, steps.size());
    double seconds = 0;
    for (std::size_t i = steps.size() - count; i < steps.size(); ++i) {
      seconds += steps[i].seconds();
      communication += steps[i].phases[static_cast<std::size_t>(Phase::communication)];
    }
    if (seconds <= 0) return;
    targets_per_second = static_cast<double>(count * run.targets_per_step) / seconds;
    communication /= seconds;
  }
  double targets_per_second = 0;
  double communication = 0;  ///< exposed, of the time: 0 to 1
};

std::string bar(double share) {
  constexpr std::size_t width = 24;
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return " [" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole >= 3600) {
    return format("%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return format("%ld:%02ld", whole / 60, whole % 60);
}

std::string count_text(double count) {
  if (count >= 1e6) return format("%.1fM", count / 1e6);
  if (count >= 1e3) return format("%.1fk", count / 1e3);
  return format("%.0f", count);
}

Progress::Progress(std::ostream& out, ProgressStyle style, RunRecord run, std::size_t columns)
    : out_(out), style_(style), run_(std::move(run)), columns_(columns) {}

void Progress::start() {
  if (style_ == ProgressStyle::none) return;
  out_ << count_text(static_cast<double>(run_.parameters)) << " parameters, " << run_.strategy
       << " on " << run_.ranks << (run_.ranks == 1 ? " rank, " : " ranks, ")
       << run_.targets_per_step << " tokens a step" << std::endl;
}

void Progress::say(const std::string& text) {
  if (style_ == ProgressStyle::none || text.empty()) return;
  if (style_ == ProgressStyle::bar) out_ << "\r\033[K";
  out_ << text << std::endl;
}

std::string Progress::line(const std::vector<StepRecord>& steps, bool with_bar) const {
  const StepRecord& now = steps.back();
  const auto done = static_cast<double>(now.step);
  const double each = total_seconds(steps) / static_cast<double>(steps.size());
  const Share recent(run_, steps, std::max<std::size_t>(run_.steps / 20, 1));
  std::string text = format("step %*zu/%zu", static_cast<int>(std::to_string(run_.steps).size()),
                            now.step, run_.steps);
  if (with_bar) text += bar(done / static_cast<double>(run_.steps));
  text += format("  loss %.4f", now.loss);
  const auto measured = std::find_if(steps.rbegin(), steps.rend(),
                                     [](const StepRecord& step) { return bool(step.validation); });
  if (measured != steps.rend()) text += format("  validation %.4f", *measured->validation);
  text += "  " + count_text(recent.targets_per_second) +
          format(" tokens/s  communication %.1f %%", 100 * recent.communication);
  if (now.skipped) text += "  skipped: fp16 overflow";
  return text + "  " + clock_text(each * (static_cast<double>(run_.steps) - done)) + " to go";
}

void Progress::show(const std::vector<StepRecord>& steps) {
  if (style_ == ProgressStyle::none || steps.empty()) return;
  const std::size_t step = steps.back().step;
  if (style_ == ProgressStyle::bar) {
    std::string text = line(steps, true);
    // A line that wraps cannot be overwritten.
    if (columns_ > 0 && text.size() >= columns_) text = line(steps, false);
    if (columns_ > 0 && text.size() >= columns_) text.resize(columns_ - 1);
    out_ << "\r" << text << "\033[K" << std::flush;
    if (step == run_.steps) out_ << std::endl;
    return;
  }
  const std::size_t every = std::max<std::size_t>(run_.steps / 20, 1);
  if (step == 1 || step % every == 0 || step == run_.steps) out_ << line(steps, false) << std::endl;
}

void Progress::finish(const std::vector<StepRecord>& steps, const Ledger& memory) {
  if (style_ == ProgressStyle::none) return;
  if (steps.empty()) {
    out_ << "nothing left to do: all of --steps " << run_.steps << " are done" << std::endl;
    return;
  }
  const double seconds = total_seconds(steps);
  const Share all(run_, steps, steps.size());
  out_ << "\nloss " << format("%.4f", steps.front().loss) << " -> "
       << format("%.4f", steps.back().loss) << " in " << clock_text(seconds) << ", "
       << count_text(all.targets_per_second) << " tokens/s, "
       << format("%.1f GFLOP/s\n",
                 run_.operations_per_step * 1e-9 * static_cast<double>(steps.size()) / seconds);
  out_ << "time a step, rank 0 (ms):";
  for (std::size_t phase = 0; phase < phase_names.size(); ++phase) {
    double sum = 0;
    for (const StepRecord& step : steps) sum += step.phases[phase];
    out_ << "  " << phase_names[phase]
         << format(" %.2f", 1e3 * sum / static_cast<double>(steps.size()));
  }
  out_ << "\nmemory a rank (MiB):";
  for (const UseInfo& row : uses) {
    if (memory.peak(row.use) == 0) continue;
    out_ << "  " << row.name
         << format(" %.2f", static_cast<double>(memory.peak(row.use)) / 1048576);
  }
  out_ << format("  at most %.2f in all", static_cast<double>(memory.peak()) / 1048576)
       << std::endl;
}

}  // namespace rondo::train
