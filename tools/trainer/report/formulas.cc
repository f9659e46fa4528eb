#include "tools/trainer/report/formulas.h"

#include <algorithm>
#include <array>

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

using enum Collective;
constexpr std::array call_costs{
    CallCost{{}, all_reduce, "ring", "2(P-1)", two_shares},
    CallCost{{}, all_reduce, "bidirectional_ring", "4(P-1)", two_shares},
    CallCost{{}, all_reduce, "two_shot", "2(P-1)", two_shares},
    CallCost{{}, all_reduce, "circulant", "2q", two_shares},
    CallCost{{}, all_reduce, "double_tree", "4(P-1)/P", two_shares},
    CallCost{{}, all_reduce, "one_shot", "P-1", "P-1"},
    CallCost{{}, all_reduce, "recursive_doubling", swapped, swapped},
    CallCost{{}, all_reduce, "binomial_tree", two_shares, two_shares},
    CallCost{{}, all_reduce, "chain", two_shares, two_shares},
    CallCost{{}, reduce_scatter, "ring", "P-1", share},
    CallCost{{}, reduce_scatter, "bidirectional_ring", "2(P-1)", share},
    CallCost{{}, reduce_scatter, "circulant", "q", share},
    CallCost{{}, reduce_scatter, "one_shot", "P-1", share},
    CallCost{{}, reduce_scatter, "binomial_tree", two_shares, edges_and_blocks},
    CallCost{{}, all_gather, "ring", "P-1", share},
    CallCost{{}, all_gather, "bidirectional_ring", "2(P-1)", share},
    CallCost{{}, all_gather, "circulant", "q", share},
    CallCost{{}, all_gather, "one_shot", "P-1", share},
    CallCost{{}, all_gather, "binomial_tree", two_shares, edges_and_blocks},
};

CallCost cost_or_ring(Collective kind, std::string_view algorithm) {
  const auto found = find_call_cost(kind, algorithm);
  return found ? *found : *find_call_cost(kind, "ring");
}

}  // namespace

std::optional<CallCost> find_call_cost(Collective kind, std::string_view algorithm) {
  const Algorithm* const row = find_algorithm(kind, algorithm);
  const auto found = std::ranges::find_if(call_costs, [&](const CallCost& cost) {
    return cost.kind == kind && cost.algorithm == algorithm;
  });
  if (row == nullptr || found == call_costs.end()) return std::nullopt;
  CallCost cost = *found;
  static_cast<CostLine&>(cost) = row->cost;
  return cost;
}

StepFormulas::StepFormulas(const Traits& traits)
    : row_(traits.strategy),
      traits_(traits),
      reduces_each_(row_.shards_gradients ||
                    (!row_.shards_state && traits.reduces_every_micro_step)),
      variables_(cost_variables(traits.ranks)),
      costs_{cost_or_ring(row_.shards_state ? reduce_scatter : all_reduce, traits.reduced_by)} {
  if (gathers() > 0) costs_.push_back(cost_or_ring(all_gather, traits.gathered_by));
}

bool StepFormulas::are_rings() const {
  return std::ranges::all_of(costs_, [](const auto& cost) { return cost.algorithm == "ring"; });
}

/// The sum over the calls: the reductions' values times one weight, the gathers' times the other.
double StepFormulas::sum(std::string_view CallCost::*term, double reduction, double gather) const {
  double all =
      static_cast<double>(reductions()) * evaluate(costs_[0].*term, variables_) * reduction;
  if (costs_.size() > 1)
    all += static_cast<double>(gathers()) * evaluate(costs_[1].*term, variables_) * gather;
  return all;
}

Formula StepFormulas::bytes() const {
  const double value =
      sum(&CallCost::mean_sent, elements() * traits_.gradient_wire, elements() * traits_.element);
  const bool as_rings = std::ranges::all_of(costs_, [](const CallCost& cost) {
    return cost.mean_sent == cost_or_ring(cost.kind, "").mean_sent;
  });
  if (as_rings)
    return {reduces_each_ && !row_.shards_state ? "2A f G" : std::string(row_.bytes), value};
  std::string text;
  for (const CallCost& cost : costs_) {
    const char* const gathered = row_.shards_parameters ? " 2A W" : " W";
    text += (text.empty() ? "" : ", ") + std::string(cost.algorithm) + ": (" +
            std::string(cost.mean_sent) + ")" +
            (cost.kind == all_gather ? gathered
             : reduces_each_         ? " A G"
                                     : " G");
  }
  return {text, value};
}

Formula StepFormulas::messages() const {
  const auto count = static_cast<double>(traits_.calls);
  const double value = sum(&CallCost::messages, count, count);
  if (are_rings()) return {"(P-1) a pass and call", value};
  std::string text;
  for (const CallCost& cost : costs_) {
    if (!text.empty() && cost.algorithm == costs_[0].algorithm) continue;
    text += (text.empty() ? "" : ", ") + std::string(cost.algorithm) + ": " +
            std::string(cost.messages);
  }
  return {text + " a call", value};
}

Formula StepFormulas::memory() const {
  const double bytes = evaluate(row_.memory, {{"P", traits_.ranks},
                                              {"p", traits_.element},
                                              {"g", traits_.element},
                                              {"s", traits_.state_bytes}});
  return {std::string(row_.memory), bytes * static_cast<double>(traits_.parameters)};
}

double StepFormulas::seconds(const Link& link) const {
  const auto count = static_cast<double>(traits_.calls);
  const double gradients = elements() * traits_.gradient_wire;
  return sum(&CostLine::rounds, count, count) * link.alpha +
         sum(&CostLine::sent, gradients, elements() * traits_.element) * link.beta +
         sum(&CostLine::reduced, gradients, 0) * link.gamma;
}

std::string StepFormulas::cost_words() const {
  std::string text;
  for (const CallCost& cost : costs_) {
    const auto part = [&](std::string_view term) {
      return std::string(term) + format(" = %.4g", evaluate(term, variables_));
    };
    text += std::string(name(cost.kind)) + " by " + std::string(cost.algorithm) + ": rounds " +
            part(cost.rounds) + "; its busiest rank sends " + part(cost.sent) + " N, adds " +
            part(cost.reduced) + " N\n";
  }
  return text;
}

}  // namespace rondo::train
