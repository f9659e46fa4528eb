#include "tools/rondo/predict.h"

#include <algorithm>
#include <cmath>

#include "core/plan/lower.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

/// More steps than this take minutes. They are only simulated when the algorithm is named.
constexpr std::uint64_t most_steps = 100'000'000;
constexpr int most_slices = 4096;

}  // namespace

std::uint64_t rough_steps(const Schedule& schedule, std::uint64_t most) {
  const auto ranks = static_cast<std::uint64_t>(schedule.ranks);
  std::uint64_t steps = 0;
  for (int lane = 0; lane < schedule.lanes; ++lane) {
    Steps all = schedule.steps(0, lane);
    while (all.next() != nullptr && steps * ranks <= most) ++steps;
  }
  return steps * ranks;
}

std::vector<Prediction> predict(const std::vector<const Algorithm*>& rows, int ranks, int root,
                                const Simulate& simulate) {
  std::vector<Prediction> all;
  for (const Algorithm* row : rows) {
    const Schedule schedule = row->build(ranks, root);
    if (rows.size() > 1 && rough_steps(schedule, most_steps) > most_steps)
      all.push_back({row});
    else
      all.push_back({row, true, simulate(schedule).busiest()});
  }
  std::stable_sort(all.begin(), all.end(), [](const Prediction& a, const Prediction& b) {
    if (a.simulated != b.simulated) return a.simulated;
    return a.cost.seconds < b.cost.seconds;
  });
  return all;
}

int slices_of(const Schedule& schedule, double bytes, double most_bytes) {
  const double most = most_bytes / longest_message(schedule);
  const double chunk = bytes / schedule.layout.chunks();
  if (most >= 1 && chunk <= most * most_slices)
    return static_cast<int>(std::max(1.0, std::ceil(chunk / most)));
  reject("slices of " + bytes_text(most_bytes) + " cut chunks of " + bytes_text(chunk) +
             " into more than " + std::to_string(most_slices) + " slices",
         "longer slices, such as --slice 512K");
}

std::string costs_text(const Costs& costs) {
  if (costs.works())
    return format(
        "alpha %.4g s, copy %.4g s/byte at either end, %.0f %% of it at once, gamma %.4g s/byte, "
        "%d processors",
        costs.alpha, costs.copy, 100 * costs.overlap, costs.gamma, costs.processors);
  return format("alpha %g s, beta %g s/byte, gamma %g s/byte%s", costs.alpha, costs.beta,
                costs.gamma, costs.ports == Ports::switched ? ", with a switch" : "");
}

std::string prediction_headings() {
  return format("%-20s %14s %10s %10s %14s %14s\n", "algorithm", "predicted us", "relative",
                "messages", "sent", "reduced");
}

std::string prediction_line(const Prediction& row, double fastest, const std::string& mark) {
  const std::string algorithm(row.algorithm->name);
  if (!row.simulated)
    return format("%-20s %14s   too many steps to compare; name it with --algorithm",
                  algorithm.c_str(), "-") +
           mark + "\n";
  return format("%-20s %14.3f %9.2fx %10llu %14s %14s", algorithm.c_str(), row.cost.seconds * 1e6,
                fastest > 0 ? row.cost.seconds / fastest : 1.0,
                static_cast<unsigned long long>(row.cost.messages),
                bytes_text(row.cost.sent).c_str(), bytes_text(row.cost.reduced).c_str()) +
         mark + "\n";
}

}  // namespace rondo::tool
