#include "tools/trainer/report/formulas.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

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
constexpr std::string_view sum_and_blocks = "1+(max(P-2^(q-1),2^(q-2))-1)/P";

// Messages, sent, rounds, most sent, added. Each table begins with the ring.
constexpr std::array all_reduces{
    CallCost{"ring", "2(P-1)", two_shares, "2(P-1)", two_shares, share},
    CallCost{"bidirectional_ring", "4(P-1)", two_shares, "2(P-1)", two_shares, share},
    CallCost{"two_shot", "2(P-1)", two_shares, "2(P-1)", two_shares, share},
    CallCost{"circulant", "2q", two_shares, "2q", two_shares, share},
    CallCost{"double_tree", "4(P-1)/P", two_shares, "2(q+floor(log2(P))-1)", "min(2,P/2)", "1"},
    CallCost{"one_shot", "P-1", "P-1", "P-1", "P-1", "P-1"},
    CallCost{"recursive_doubling", swapped, swapped, "2q-floor(log2(P))", "q", "q"},
    CallCost{"binomial_tree", two_shares, two_shares, "2q", "q", "q"},
    CallCost{"chain", two_shares, two_shares, "2(P-1)", "min(2,P-1)", "1"}};

constexpr std::array reduce_scatters{
    CallCost{"ring", "P-1", share, "P-1", share, share},
    CallCost{"bidirectional_ring", "2(P-1)", share, "P-1", share, share},
    CallCost{"circulant", "q", share, "q", share, share},
    CallCost{"one_shot", "P-1", share, "P-1", share, share},
    CallCost{"binomial_tree", two_shares, edges_and_blocks, "2q", sum_and_blocks, "q"}};

constexpr std::array all_gathers{
    CallCost{"ring", "P-1", share, "P-1", share, "0"},
    CallCost{"bidirectional_ring", "2(P-1)", share, "P-1", share, "0"},
    CallCost{"circulant", "q", share, "q", share, "0"},
    CallCost{"one_shot", "P-1", share, "P-1", share, "0"},
    CallCost{"binomial_tree", two_shares, edges_and_blocks, "2q", "q", "0"}};

const StrategyInfo& row_of(std::string_view strategy) {
  const auto rows = strategies();
  const auto row = std::ranges::find(rows, strategy, &StrategyInfo::name);
  if (row != rows.end()) return *row;
  reject("there is no formula for the strategy '" + std::string(strategy) + "'",
         "one of ddp, zero1, zero2, zero3");
}

using Term = std::string_view CallCost::*;

/// A step's calls with the costs of their algorithms.
class StepCalls {
 public:
  StepCalls(std::string_view strategy, const Traits& traits)
      : passes_(passes_of(strategy, traits)),
        variables_(cost_variables(traits.ranks)),
        reduces_(cost_or_ring(passes_.reducing, traits.reduced_by)),
        gathers_(cost_or_ring(Collective::all_gather, traits.gathered_by)) {}

  bool are_rings() const {
    return reduces_.algorithm == "ring" && (!has_gathers() || gathers_.algorithm == "ring");
  }
  bool send_as_rings() const {
    return reduces_.sent == find_call_cost(passes_.reducing, "ring")->sent &&
           (!has_gathers() ||
            gathers_.sent == find_call_cost(Collective::all_gather, "ring")->sent);
  }
  double value(const CallCost& cost, Term term) const { return evaluate(cost.*term, variables_); }
  /// The sum over the calls: the reductions' values times one weight, the gathers' times the other.
  double sum(Term term, double reduction, double gather) const {
    return static_cast<double>(passes_.reductions) * value(reduces_, term) * reduction +
           static_cast<double>(passes_.gathers) * value(gathers_, term) * gather;
  }
  /// words(name of the collective, cost, passes) of the calls that there are, with `between` them.
  template <class Words>
  std::string each(const char* between, Words words) const {
    const bool all = passes_.reducing == Collective::all_reduce;
    std::string text = words(all ? "all_reduce" : "reduce_scatter", reduces_);
    return has_gathers() ? text + between + words("all_gather", gathers_) : text;
  }
  bool has_gathers() const { return passes_.gathers > 0; }
  bool have_one_algorithm() const {
    return !has_gathers() || gathers_.algorithm == reduces_.algorithm;
  }

 private:
  static const CallCost& cost_or_ring(Collective kind, std::string_view algorithm) {
    const CallCost* const found = find_call_cost(kind, algorithm);
    return found != nullptr ? *found : *find_call_cost(kind, "ring");
  }

  Passes passes_;
  Variables variables_;
  const CallCost& reduces_;
  const CallCost& gathers_;
};

double elements(const Traits& traits) {
  return static_cast<double>(traits.parameters + traits.padding);
}

}  // namespace

const CallCost* find_call_cost(Collective kind, std::string_view algorithm) {
  std::span<const CallCost> rows = all_gathers;
  if (kind == Collective::all_reduce) rows = all_reduces;
  if (kind == Collective::reduce_scatter) rows = reduce_scatters;
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const CallCost& one) { return one.algorithm == algorithm; });
  return row == rows.end() ? nullptr : &*row;
}

Passes passes_of(std::string_view strategy, const Traits& traits) {
  const StrategyInfo& row = row_of(strategy);
  const bool each = row.shards_gradients || (!row.shards_state && traits.reduces_every_micro_step);
  return {.reducing = row.shards_state ? Collective::reduce_scatter : Collective::all_reduce,
          .reductions = each ? traits.micro_steps : 1,
          .gathers = row.shards_parameters ? 2 * traits.micro_steps
                     : row.shards_state    ? std::size_t{1}
                                           : 0};
}

Formula bytes_a_step(std::string_view strategy, const Traits& traits) {
  const StepCalls calls(strategy, traits);
  const double value = calls.sum(&CallCost::sent, elements(traits) * traits.gradient_wire,
                                 elements(traits) * traits.parameter_wire);
  const bool each = traits.reduces_every_micro_step && strategy == "ddp";
  if (calls.send_as_rings()) return {each ? "2A f G" : std::string(row_of(strategy).bytes), value};
  const bool every = each || strategy == "zero2" || strategy == "zero3";
  return {calls.each(", ",
                     [&](std::string_view kind, const CallCost& call) {
                       const char* const passes = kind == "all_gather"
                                                      ? (strategy == "zero3" ? " 2A W" : " W")
                                                      : (every ? " A G" : " G");
                       return std::string(call.algorithm) + ": (" + std::string(call.sent) + ")" +
                              passes;
                     }),
          value};
}

Formula messages_a_step(std::string_view strategy, const Traits& traits) {
  const StepCalls calls(strategy, traits);
  const auto count = static_cast<double>(traits.calls);
  const double value = calls.sum(&CallCost::messages, count, count);
  if (calls.are_rings()) return {"(P-1) a pass and call", value};
  std::string text;
  calls.each("", [&](const char*, const CallCost& call) {
    if (text.empty() || !calls.have_one_algorithm())
      text += (text.empty() ? "" : ", ") + std::string(call.algorithm) + ": " +
              std::string(call.messages);
    return "";
  });
  return {text + " a call", value};
}

Formula memory(std::string_view strategy, const Traits& traits) {
  const StrategyInfo& row = row_of(strategy);
  const double share = 1.0 / traits.ranks;
  const double bytes = traits.parameter_bytes * (row.shards_parameters ? share : 1) +
                       traits.gradient_bytes * (row.shards_gradients ? share : 1) +
                       traits.state_bytes * (row.shards_state ? share : 1);
  return {std::string(row_of(strategy).memory), bytes * static_cast<double>(traits.parameters)};
}

StepCost cost_of_a_step(std::string_view strategy, const Traits& traits) {
  const StepCalls calls(strategy, traits);
  const auto count = static_cast<double>(traits.calls);
  const double gradients = elements(traits) * traits.gradient_wire;
  return {
      .rounds = calls.sum(&CallCost::rounds, count, count),
      .bytes = calls.sum(&CallCost::most_sent, gradients, elements(traits) * traits.parameter_wire),
      .added = calls.sum(&CallCost::added, gradients, 0)};
}

std::string cost_line_words(std::string_view strategy, const Traits& traits) {
  const StepCalls calls(strategy, traits);
  if (calls.are_rings()) return "";
  return calls.each("", [&](const char* kind, const CallCost& call) {
    const auto part = [&](Term term) {
      return std::string(call.*term) + format(" = %.4g", calls.value(call, term));
    };
    return std::string(kind) + " by " + std::string(call.algorithm) + ": rounds " +
           part(&CallCost::rounds) + "; its busiest rank sends " + part(&CallCost::most_sent) +
           " N, adds " + part(&CallCost::added) + " N\n";
  });
}

double speed_up(int ranks, double compute, double communication, double overlapped) {
  const double step = compute + std::max(0.0, communication - overlapped);
  return step > 0 ? ranks * compute / step : 0;
}

}  // namespace rondo::train
