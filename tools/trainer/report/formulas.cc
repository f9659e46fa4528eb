#include "tools/trainer/report/formulas.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "rondo/error.h"
#include "tools/trainer/report/call_cost.h"
#include "tools/trainer/report/print.h"

namespace rondo::train {
namespace {

/// How often a step passes over the model, and which parts are sharded.
struct Row {
  std::string_view strategy;
  double (*gradient_passes)(const Traits&);   ///< in units of f G
  double (*parameter_passes)(const Traits&);  ///< in units of f W
  bool shards_state;
  bool shards_gradients;
  bool shards_parameters;
  std::string_view bytes;
  std::string_view memory;
};

double steps(const Traits& traits) { return static_cast<double>(traits.micro_steps); }

constexpr std::array rows{
    Row{"ddp", [](const Traits& t) { return t.reduces_every_micro_step ? 2 * steps(t) : 2.0; },
        [](const Traits&) { return 0.0; }, false, false, false, "2f G", "p + g + s"},
    Row{"zero1", [](const Traits&) { return 1.0; }, [](const Traits&) { return 1.0; }, true, false,
        false, "f G + f W", "p + g + s/P"},
    Row{"zero2", [](const Traits& t) { return steps(t); }, [](const Traits&) { return 1.0; }, true,
        true, false, "A f G + f W", "p + (g + s)/P"},
    Row{"zero3", [](const Traits& t) { return steps(t); },
        [](const Traits& t) { return 2 * steps(t); }, true, true, true, "A f G + 2A f W",
        "(p + g + s)/P"},
};

const Row& row_of(std::string_view strategy) {
  const auto* const row = std::find_if(std::begin(rows), std::end(rows),
                                       [&](const Row& one) { return one.strategy == strategy; });
  if (row != std::end(rows)) return *row;
  throw Error(ErrorCode::invalid_argument,
              "there is no formula for the strategy '" + std::string(strategy) + "'",
              {.remedy = "one of ddp, zero1, zero2, zero3"});
}

/// How often a step's calls reduce and gather the whole model.
struct Calls {
  const CallCost& reduces;
  const CallCost& gathers;
  double reducing = 0;   ///< how often gradients are reduced: all_reduces, or reduce_scatters
  double gathering = 0;  ///< how often parameters are gathered
};

const CallCost& cost_or_ring(CallKind kind, std::string_view algorithm) {
  const CallCost* const found = find_call_cost(kind, algorithm);
  return found != nullptr ? *found : *find_call_cost(kind, "ring");
}

CallKind reducing_kind(const Row& row) {
  return row.strategy == "ddp" ? CallKind::all_reduce : CallKind::reduce_scatter;
}

/// An all_reduce passes over the gradients twice.
Calls calls_of(const Row& row, const Traits& traits) {
  const CallKind kind = reducing_kind(row);
  return {cost_or_ring(kind, traits.reduced_by),
          cost_or_ring(CallKind::all_gather, traits.gathered_by),
          row.gradient_passes(traits) / (kind == CallKind::all_reduce ? 2 : 1),
          row.parameter_passes(traits)};
}

bool rings(const Calls& calls) {
  return calls.reduces.algorithm == "ring" &&
         (calls.gathering == 0 || calls.gathers.algorithm == "ring");
}

double elements(const Traits& traits) {
  return static_cast<double>(traits.parameters + traits.padding);
}

/// "circulant: q": the cost of a call; for both kinds of calls if they differ.
std::string by_algorithm(const Calls& calls, Term CallCost::*term) {
  std::string text =
      std::string(calls.reduces.algorithm) + ": " + std::string((calls.reduces.*term).text);
  if (calls.gathering > 0 && calls.gathers.algorithm != calls.reduces.algorithm)
    text += ", " + std::string(calls.gathers.algorithm) + ": " +
            std::string((calls.gathers.*term).text);
  return text;
}

}  // namespace

Formula bytes_a_step(std::string_view strategy, const Traits& traits) {
  const Row& row = row_of(strategy);
  const Calls calls = calls_of(row, traits);
  const double value =
      elements(traits) *
      (calls.reducing * calls.reduces.sent.value(traits.ranks) * traits.gradient_wire +
       calls.gathering * calls.gathers.sent.value(traits.ranks) * traits.parameter_wire);
  const bool each = strategy == "ddp" && traits.reduces_every_micro_step;
  const bool gathers = calls.gathering > 0;
  if (!sends_as_a_ring(reducing_kind(row), calls.reduces) ||
      (gathers && !sends_as_a_ring(CallKind::all_gather, calls.gathers))) {
    const auto part = [](const CallCost& call, const char* passes) {
      return std::string(call.algorithm) + ": (" + std::string(call.sent.text) + ")" + passes;
    };
    const bool every = each || strategy == "zero2" || strategy == "zero3";
    std::string text = part(calls.reduces, every ? " A G" : " G");
    if (gathers) text += ", " + part(calls.gathers, strategy == "zero3" ? " 2A W" : " W");
    return {std::move(text), value};
  }
  return {each ? "2A f G" : std::string(row.bytes), value};
}

Formula messages_a_step(std::string_view strategy, const Traits& traits) {
  const Calls calls = calls_of(row_of(strategy), traits);
  const double messages = calls.reducing * calls.reduces.messages.value(traits.ranks) +
                          calls.gathering * calls.gathers.messages.value(traits.ranks);
  return {
      rings(calls) ? "(P-1) a pass and call" : by_algorithm(calls, &CallCost::messages) + " a call",
      messages * static_cast<double>(traits.calls)};
}

StepCost cost_of_a_step(std::string_view strategy, const Traits& traits) {
  const Calls calls = calls_of(row_of(strategy), traits);
  const int ranks = traits.ranks;
  const double gradients = calls.reducing * elements(traits) * traits.gradient_wire;
  const double parameters = calls.gathering * elements(traits) * traits.parameter_wire;
  return {.rounds = static_cast<double>(traits.calls) *
                    (calls.reducing * calls.reduces.rounds.value(ranks) +
                     calls.gathering * calls.gathers.rounds.value(ranks)),
          .bytes = gradients * calls.reduces.most_sent.value(ranks) +
                   parameters * calls.gathers.most_sent.value(ranks),
          .added = gradients * calls.reduces.added.value(ranks)};
}

std::string cost_line_words(std::string_view strategy, const Traits& traits) {
  const Calls calls = calls_of(row_of(strategy), traits);
  if (rings(calls)) return "";
  const auto line = [&](const char* kind, const CallCost& call) {
    const auto part = [&](const Term& term) {
      return std::string(term.text) + print(" = %.4g", term.value(traits.ranks));
    };
    return std::string(kind) + " by " + std::string(call.algorithm) + ": rounds " +
           part(call.rounds) + "; its busiest rank sends " + part(call.most_sent) + " N, adds " +
           part(call.added) + " N\n";
  };
  std::string text = line(strategy == "ddp" ? "all_reduce" : "reduce_scatter", calls.reduces);
  if (calls.gathering > 0) text += line("all_gather", calls.gathers);
  return text;
}

Formula memory(std::string_view strategy, const Traits& traits) {
  const Row& row = row_of(strategy);
  const double share = 1.0 / traits.ranks;
  const double bytes = traits.parameter_bytes * (row.shards_parameters ? share : 1) +
                       traits.gradient_bytes * (row.shards_gradients ? share : 1) +
                       traits.state_bytes * (row.shards_state ? share : 1);
  return {std::string(row.memory), bytes * static_cast<double>(traits.parameters)};
}

double speed_up(int ranks, double compute, double communication, double overlapped) {
  const double step = compute + std::max(0.0, communication - overlapped);
  return step > 0 ? ranks * compute / step : 0;
}

}  // namespace rondo::train
