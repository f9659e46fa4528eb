#include "tools/trainer/report/formulas.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "rondo/error.h"

namespace rondo::train {
namespace {

/// How often a step passes over the model, and what of it is sharded.
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

double others(const Traits& traits) { return static_cast<double>(traits.ranks - 1); }

}  // namespace

Formula bytes_a_step(std::string_view strategy, const Traits& traits) {
  const Row& row = row_of(strategy);
  const double share = others(traits) / traits.ranks;
  const auto elements = static_cast<double>(traits.parameters + traits.padding);
  const double value = share * elements *
                       (row.gradient_passes(traits) * traits.gradient_wire +
                        row.parameter_passes(traits) * traits.parameter_wire);
  const bool each = strategy == "ddp" && traits.reduces_every_micro_step;
  return {each ? "2A f G" : std::string(row.bytes), value};
}

// A ring's all-reduce passes over the gradients twice and combines in the first of these.
double reduced_bytes_a_step(std::string_view strategy, const Traits& traits) {
  const Row& row = row_of(strategy);
  const double passes = row.gradient_passes(traits) / (strategy == "ddp" ? 2 : 1);
  return passes * others(traits) / traits.ranks * traits.gradient_wire *
         static_cast<double>(traits.parameters + traits.padding);
}

Formula ring_messages_a_step(std::string_view strategy, const Traits& traits) {
  const Row& row = row_of(strategy);
  const double passes = row.gradient_passes(traits) + row.parameter_passes(traits);
  return {"(P-1) a pass and call", passes * others(traits) * static_cast<double>(traits.calls)};
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
