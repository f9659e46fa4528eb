#include "tools/trainer/report/formulas.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/schedule/formula.h"
#include "tools/trainer/strategy/workplace.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

constexpr std::string_view share = "(P-1)/P", two_shares = "2(P-1)/P";
/// 2^floor(log2 P) ranks swap sums with each other in every round. Each other rank passes its
/// vector to one of them and gets the result back.
constexpr std::string_view swapped = "(2^floor(log2(P))floor(log2(P))+2(P-2^floor(log2(P))))/P";
/// Every edge of a binomial tree carries the whole vector one way, and the blocks of the ranks
/// below it the other way. Each block passes as many edges as its rank's number has binary ones.
constexpr std::string_view edges_and_blocks = "(P-1+ones(P)/P)/P";

/// The means of CallCost.
struct Mean {
  Collective kind;
  std::string_view algorithm, messages, sent;
};
using enum Collective;
constexpr std::array means{
    Mean{all_reduce, "ring", "2(P-1)", two_shares},
    Mean{all_reduce, "bidirectional_ring", "4(P-1)", two_shares},
    Mean{all_reduce, "two_shot", "2(P-1)", two_shares},
    Mean{all_reduce, "circulant", "2q", two_shares},
    Mean{all_reduce, "double_tree", "4(P-1)/P", two_shares},
    Mean{all_reduce, "one_shot", "P-1", "P-1"},
    Mean{all_reduce, "recursive_doubling", swapped, swapped},
    Mean{all_reduce, "binomial_tree", two_shares, two_shares},
    Mean{all_reduce, "chain", two_shares, two_shares},
    Mean{reduce_scatter, "ring", "P-1", share},
    Mean{reduce_scatter, "bidirectional_ring", "2(P-1)", share},
    Mean{reduce_scatter, "circulant", "q", share},
    Mean{reduce_scatter, "one_shot", "P-1", share},
    Mean{reduce_scatter, "binomial_tree", two_shares, edges_and_blocks},
    Mean{all_gather, "ring", "P-1", share},
    Mean{all_gather, "bidirectional_ring", "2(P-1)", share},
    Mean{all_gather, "circulant", "q", share},
    Mean{all_gather, "one_shot", "P-1", share},
    Mean{all_gather, "binomial_tree", two_shares, edges_and_blocks},
};

const StrategyInfo& row_of(std::string_view strategy) {
  const auto rows = strategies();
  const auto row = std::ranges::find(rows, strategy, &StrategyInfo::name);
  if (row != rows.end()) return *row;
  reject("there is no formula for the strategy '" + std::string(strategy) + "'",
         "one of ddp, zero1, zero2, zero3");
}

/// Whether gradients are sent in every micro-step, not only in the last.
bool reduces_each(const StrategyInfo& row, const Traits& traits) {
  return row.shards_gradients || (!row.shards_state && traits.reduces_every_micro_step);
}

CallCost cost_or_ring(Collective kind, std::string_view algorithm) {
  const auto found = find_call_cost(kind, algorithm);
  return found ? *found : *find_call_cost(kind, "ring");
}

/// A step's calls with the costs of their algorithms.
struct StepCalls {
  StepCalls(std::string_view strategy, const Traits& traits)
      : passes(passes_of(strategy, traits)),
        variables(cost_variables(traits.ranks)),
        costs{cost_or_ring(passes.reducing, traits.reduced_by)} {
    if (passes.gathers > 0) costs.push_back(cost_or_ring(all_gather, traits.gathered_by));
  }

  bool are_rings() const {
    return std::ranges::all_of(costs, [](const auto& cost) { return cost.algorithm == "ring"; });
  }
  bool send_as_rings() const {
    return costs[0].mean_sent == cost_or_ring(passes.reducing, "").mean_sent &&
           (costs.size() == 1 || costs[1].mean_sent == cost_or_ring(all_gather, "").mean_sent);
  }
  /// The sum over the calls: the reductions' values times one weight, the gathers' times the other.
  double sum(std::string_view CallCost::*term, double reduction, double gather) const {
    double all =
        static_cast<double>(passes.reductions) * evaluate(costs[0].*term, variables) * reduction;
    if (costs.size() > 1)
      all += static_cast<double>(passes.gathers) * evaluate(costs[1].*term, variables) * gather;
    return all;
  }

  Passes passes;
  Variables variables;
  std::vector<CallCost> costs;  ///< of a reduction, and of a gather if there is one
};

double elements(const Traits& traits) {
  return static_cast<double>(traits.parameters + traits.padding);
}

}  // namespace

std::optional<CallCost> find_call_cost(Collective kind, std::string_view algorithm) {
  const Algorithm* const row = find_algorithm(kind, algorithm);
  const auto found = std::ranges::find_if(
      means, [&](const Mean& mean) { return mean.kind == kind && mean.algorithm == algorithm; });
  if (row == nullptr || found == means.end()) return std::nullopt;
  return CallCost{row->cost, found->algorithm, found->messages, found->sent};
}

Passes passes_of(std::string_view strategy, const Traits& traits) {
  const StrategyInfo& row = row_of(strategy);
  return {.reducing = row.shards_state ? reduce_scatter : all_reduce,
          .reductions = reduces_each(row, traits) ? traits.micro_steps : 1,
          .gathers = row.shards_parameters ? 2 * traits.micro_steps
                     : row.shards_state    ? std::size_t{1}
                                           : 0};
}

Formula bytes_a_step(std::string_view strategy, const Traits& traits) {
  const StepCalls calls(strategy, traits);
  const StrategyInfo& row = row_of(strategy);
  const double value = calls.sum(&CallCost::mean_sent, elements(traits) * traits.gradient_wire,
                                 elements(traits) * traits.element);
  const bool each = reduces_each(row, traits);
  if (calls.send_as_rings())
    return {each && !row.shards_state ? "2A f G" : std::string(row.bytes), value};
  std::string text;
  for (const CallCost& cost : calls.costs) {
    const char* const gathered = row.shards_parameters ? " 2A W" : " W";
    text += (text.empty() ? "" : ", ") + std::string(cost.algorithm) + ": (" +
            std::string(cost.mean_sent) + ")" +
            (&cost != calls.costs.data() ? gathered
             : each                      ? " A G"
                                         : " G");
  }
  return {text, value};
}

Formula messages_a_step(std::string_view strategy, const Traits& traits) {
  const StepCalls calls(strategy, traits);
  const auto count = static_cast<double>(traits.calls);
  const double value = calls.sum(&CallCost::messages, count, count);
  if (calls.are_rings()) return {"(P-1) a pass and call", value};
  std::string text;
  for (const CallCost& cost : calls.costs) {
    if (!text.empty() && cost.algorithm == calls.costs[0].algorithm) continue;
    text += (text.empty() ? "" : ", ") + std::string(cost.algorithm) + ": " +
            std::string(cost.messages);
  }
  return {text + " a call", value};
}

Formula memory(std::string_view strategy, const Traits& traits) {
  const StrategyInfo& row = row_of(strategy);
  const double own = 1.0 / traits.ranks;
  const double bytes = traits.element * (row.shards_parameters ? own : 1) +
                       traits.element * (row.shards_gradients ? own : 1) +
                       traits.state_bytes * (row.shards_state ? own : 1);
  return {std::string(row.memory), bytes * static_cast<double>(traits.parameters)};
}

StepCost cost_of_a_step(std::string_view strategy, const Traits& traits) {
  const StepCalls calls(strategy, traits);
  const auto count = static_cast<double>(traits.calls);
  const double gradients = elements(traits) * traits.gradient_wire;
  return {.rounds = calls.sum(&CostLine::rounds, count, count),
          .bytes = calls.sum(&CostLine::sent, gradients, elements(traits) * traits.element),
          .added = calls.sum(&CostLine::reduced, gradients, 0)};
}

std::string cost_line_words(std::string_view strategy, const Traits& traits) {
  const StepCalls calls(strategy, traits);
  if (calls.are_rings()) return "";
  std::string text;
  for (const CallCost& cost : calls.costs) {
    const auto part = [&](std::string_view term) {
      return std::string(term) + format(" = %.4g", evaluate(term, calls.variables));
    };
    const bool gathers = &cost != calls.costs.data();
    text += std::string(name(gathers ? all_gather : calls.passes.reducing)) + " by " +
            std::string(cost.algorithm) + ": rounds " + part(cost.rounds) +
            "; its busiest rank sends " + part(cost.sent) + " N, adds " + part(cost.reduced) +
            " N\n";
  }
  return text;
}

double speed_up(int ranks, double compute, double communication, double overlapped) {
  const double step = compute + std::max(0.0, communication - overlapped);
  return step > 0 ? ranks * compute / step : 0;
}

}  // namespace rondo::train
