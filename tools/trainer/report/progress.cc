#include "tools/trainer/report/progress.h"

#include <algorithm>
#include <ostream>
#include <span>

#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

using Steps = std::span<const StepRecord>;

double seconds_of(Steps steps) {
  double sum = 0;
  for (const StepRecord& step : steps) sum += step.seconds();
  return sum;
}

std::string rate_text(const RunRecord& run, Steps steps) {
  const double seconds = seconds_of(steps);
  const auto targets = static_cast<double>(steps.size() * run.targets_per_step);
  return count_text(seconds > 0 ? targets / seconds : 0) + " tokens/s";
}

std::string line(const RunRecord& run, Steps steps) {
  const StepRecord& now = steps.back();
  std::string text = format("step %*zu/%zu", static_cast<int>(std::to_string(run.steps).size()),
                            now.step, run.steps) +
                     format("  loss %.4f", now.loss);
  const auto measured = std::find_if(steps.rbegin(), steps.rend(),
                                     [](const StepRecord& step) { return bool(step.validation); });
  if (measured != steps.rend()) text += format("  validation %.4f", *measured->validation);
  const Steps recent = steps.last(std::min(std::max<std::size_t>(run.steps / 20, 1), steps.size()));
  const double waited = seconds_in(recent, static_cast<std::size_t>(Phase::communication));
  const double seconds = seconds_of(recent);
  text += "  " + rate_text(run, recent) +
          format("  communication %.1f %%", seconds > 0 ? 100 * waited / seconds : 0);
  if (now.skipped) text += "  skipped: fp16 overflow";
  const double each = seconds_of(steps) / static_cast<double>(steps.size());
  return text + "  " + clock_text(each * static_cast<double>(run.steps - now.step)) + " to go";
}

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 3600) return format("%ld:%02ld", whole / 60, whole % 60);
  return format("%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string count_text(double count) {
  if (count >= 1e6) return format("%.1fM", count / 1e6);
  if (count >= 1e3) return format("%.1fk", count / 1e3);
  return format("%.0f", count);
}

std::string headline(const RunRecord& run) {
  return count_text(static_cast<double>(run.parameters)) + " parameters, " + run.strategy + " on " +
         count_of_ranks(run.ranks) + ", " + std::to_string(run.targets_per_step) + " tokens a step";
}

void show_progress(std::ostream& out, const RunRecord& run, const std::vector<StepRecord>& steps) {
  const std::size_t step = steps.back().step;
  const std::size_t every = std::max<std::size_t>(run.steps / 20, 1);
  if (step == 1 || step % every == 0 || step == run.steps) out << line(run, steps) << std::endl;
}

std::string summary(const RunRecord& run, const std::vector<StepRecord>& steps,
                    const Ledger& memory) {
  if (steps.empty())
    return "nothing left to do: all of --steps " + std::to_string(run.steps) + " are done";
  const auto count = static_cast<double>(steps.size());
  const double seconds = seconds_of(steps);
  std::string text = format("\nloss %.4f -> %.4f in ", steps.front().loss, steps.back().loss) +
                     clock_text(seconds) + ", " + rate_text(run, steps) +
                     format(", %.1f GFLOP/s", run.operations_per_step * 1e-9 * count / seconds);
  text += "\ntime a step, rank 0 (ms):";
  for (std::size_t phase = 0; phase < phase_names.size(); ++phase)
    text += "  " + std::string(phase_names[phase]) +
            format(" %.2f", 1e3 * seconds_in(steps, phase) / count);
  text += "\nmemory a rank (MiB):";
  const auto mebibytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1048576; };
  for (const UseInfo& row : uses) {
    if (memory.peak(row.use) > 0)
      text += "  " + std::string(row.name) + format(" %.2f", mebibytes(memory.peak(row.use)));
  }
  return text + format("  at most %.2f in all", mebibytes(memory.peak()));
}

}  // namespace rondo::train
