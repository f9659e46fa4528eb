#include "tools/rondo/calibrate/predict_call.h"

#include <algorithm>

#include "core/plan/decide.h"
#include "core/settings/settings.h"
#include "tools/rondo/format.h"
#include "tools/rondo/why/facts.h"

namespace rondo::tool {
namespace {

std::string micro(double seconds) { return format("%.4g us", seconds * 1e6); }
std::string nano(double seconds) { return format("%.4g", seconds * 1e9); }

CallPrediction by_messages(const LinkProfile& link, const PreparedCall& prepared, double bytes) {
  const Schedule& schedule = prepared.plan->schedule;
  const int slices = static_cast<int>(prepared.slicing.passes);
  Costs costs = link.costs(bytes);
  costs.slices = slices;
  costs.overlap = link.overlap(bytes / slices);
  const RankCost most = simulate(schedule, bytes, costs).busiest();
  CallPrediction found{.seconds = most.seconds};
  found.way = schedule.algorithm;
  if (slices > 1) found.way += " in " + std::to_string(slices) + " slices";
  const std::string mover =
      link.hosts > 1 ? "beta " + nano(costs.beta) : "copy " + nano(costs.copy);
  found.formula = "alpha " + micro(costs.alpha) + "; ns/B: " + mover + ", gamma " +
                  nano(costs.gamma) + "; moves " + bytes_text(most.sent + most.received) +
                  ", adds " + bytes_text(most.reduced);
  return found;
}

CallPrediction directly(const LinkProfile& link, const SharedCall& shared) {
  const SharedPart& part = shared.ordinary;
  const double taken = static_cast<double>(part.given.bytes);  // each rank takes what it gives
  const bool shares = part.stages() > 1;
  const double others = link.ranks - 1;
  const double added = static_cast<double>(part.bytes()) * (shares ? others / link.ranks : others);
  const double fetch = link.fetched(static_cast<double>(part.bytes()));
  const double combine = link.fetched_combined(static_cast<double>(part.bytes()));
  const double turns = static_cast<double>(link.ranks) / link.cores;
  const int meetings = shares ? 2 : 1;
  CallPrediction found;
  found.seconds = meetings * link.meeting.median + turns * (taken * fetch + added * combine);
  found.way = "direct (" + std::string(part.plan->algorithm) + ")";
  found.formula = std::to_string(meetings) + " meetings of " + micro(link.meeting.median) +
                  "; ns/B: fetch " + nano(fetch) + ", combine " + nano(combine) + "; takes " +
                  bytes_text(taken) + ", adds " + bytes_text(added);
  return found;
}

}  // namespace

AllReduceModel::AllReduceModel(const LinkProfile& link, const std::string& algorithm, double bytes)
    : bytes_(bytes) {
  Config config;
  config.transport = link.transport;
  config.link_costs = read_config().link_costs;  // as ranks have it
  const why::Facts facts =
      why::facts_here(config, {.ranks = link.ranks, .one_machine = link.hosts == 1});
  const AlgorithmSelection selection(algorithm == "default" ? "" : algorithm, "the algorithm");
  const Call call{.count = static_cast<std::size_t>(bytes) / sizeof(float),
                  .collective = Collective::all_reduce,
                  .type = DataType::float32};
  const Choice choice =
      choose(call.collective, index_space_bytes(call, link.ranks), facts.around, selection);
  const auto plan = make_plan(choice.algorithm, 0, 0, facts.around);
  prepared_ = decide(choice, plan, call, 0, facts.around, facts.frame_bytes);
}

CallPrediction AllReduceModel::predict(const LinkProfile& link, double direct) const {
  if (!prepared_->shared) return by_messages(link, *prepared_, bytes_);
  const CallPrediction directly_moved = directly(link, *prepared_->shared);
  if (prepared_->shared->places == Places::copies || direct >= 1) return directly_moved;
  CallPrediction mixed = by_messages(link, *prepared_, bytes_);
  if (direct <= 0) return mixed;
  mixed.seconds += direct * (directly_moved.seconds - mixed.seconds);
  mixed.way = format("%.0f %%", 100 * direct) + " " + directly_moved.way + ", else " + mixed.way;
  mixed.formula = directly_moved.formula + "; else " + mixed.formula;
  return mixed;
}

}  // namespace rondo::tool
