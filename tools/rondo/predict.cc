#include "tools/rondo/predict.h"

#include <algorithm>
#include <cmath>

#include "core/plan/cut.h"
#include "core/plan/estimate.h"
#include "core/plan/lower.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr int most_slices_asked = 4096;

/// What a message carries at most over shared memory and TCP together, and over TCP alone.
constexpr std::size_t shared_slot = std::size_t{64} << 10;
constexpr std::size_t socket_slot = std::size_t{512} << 10;

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

Topology with_costs(Topology topology, const Costs& costs) {
  topology.memory = {costs.alpha, costs.beta};
  topology.network_alpha = costs.alpha;
  topology.gamma = costs.gamma;
  topology.hosts = {{.ports = {{.beta = costs.beta}}}};
  return topology;
}

std::vector<Prediction> predict(const std::vector<Composition>& rows, const Topology& topology,
                                int root, double bytes, std::uint64_t most_steps,
                                const Simulate& simulate) {
  const Estimates estimates(topology);
  std::vector<Prediction> all;
  for (const Composition& row : rows) {
    const Schedule schedule = row.build(topology, root);
    if (rough_steps(schedule, most_steps) > most_steps)
      all.push_back({row, false, {.seconds = estimates.of(row, bytes).seconds}});
    else
      all.push_back({row, true, simulate(schedule).busiest()});
  }
  std::ranges::stable_sort(all, {}, [](const Prediction& each) { return each.cost.seconds; });
  return all;
}

int slices_of(const Schedule& schedule, double bytes, double most_bytes) {
  const double most = most_bytes / longest_message(schedule);
  const double chunk = bytes / schedule.layout.chunks();
  if (most >= 1 && chunk <= most * most_slices_asked)
    return static_cast<int>(std::max(1.0, std::ceil(chunk / most)));
  reject("slices of " + bytes_text(most_bytes) + " cut chunks of " + bytes_text(chunk) +
             " into more than " + std::to_string(most_slices_asked) + " slices",
         "longer slices, such as --slice 512K");
}

int slices_between_hosts(const Schedule& schedule, double bytes, const Topology& topology,
                         std::size_t slot_bytes) {
  const Cut cut = cut_for_wires(flow_of(schedule), slot_bytes, topology.short_frames);
  const double longest = bytes / schedule.layout.chunks() * longest_message(schedule);
  const double slices = std::ceil(longest / static_cast<double>(cut.frame_bytes));
  return static_cast<int>(std::clamp<double>(slices, 1, most_slices));
}

int slices_as_run(const Schedule& schedule, double bytes, const Topology& topology) {
  return slices_between_hosts(schedule, bytes, topology,
                              Hosts(topology).largest() > 1 ? shared_slot : socket_slot);
}

Simulation simulate_loop_as_run(const Schedule& schedule, double bytes, const Topology& topology,
                                Costs costs, int calls) {
  costs.slices = slices_as_run(schedule, bytes, topology);
  return simulate_loop(schedule, bytes, costs, topology, calls);
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

std::string predictions_text(const std::vector<Prediction>& rows, bool brief,
                             const std::string& chosen) {
  Table table(1);
  std::vector<std::string> headings{"algorithm", "predicted us", "relative"};
  if (!brief) headings.insert(headings.end(), {"messages", "sent", "reduced"});
  table.row(headings);
  const double fastest = rows.front().cost.seconds;
  for (const Prediction& row : rows) {
    std::vector<std::string> cells{
        row.algorithm.name(),
        (row.simulated ? "" : "about ") + format("%.3f", row.cost.seconds * 1e6),
        format("%.2fx", fastest > 0 ? row.cost.seconds / fastest : 1.0)};
    if (!brief && row.simulated)
      cells.insert(cells.end(), {std::to_string(row.cost.messages), bytes_text(row.cost.sent),
                                 bytes_text(row.cost.reduced)});
    table.row(cells);
  }
  std::string text = table.text();
  const std::size_t mark = text.find("\n  " + chosen + " ");
  if (!chosen.empty() && mark != std::string::npos) text[mark + 1] = '*';
  return text;
}

}  // namespace rondo::tool
