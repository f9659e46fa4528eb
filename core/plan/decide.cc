#include "core/plan/decide.h"

#include <algorithm>
#include <cstdlib>

#include "core/plan/lower.h"

namespace rondo {
namespace {

/// From here on times decide between the direct path and messages. Shorter calls are made at once
/// (Engine::run_at_once()), which cannot turn to messages; there the table decides.
constexpr std::size_t measured_from = std::size_t{16} * 1024 + 1;

/// Times may decide only between paths that give the same bits: both add in the order of ranks, and
/// round once. If the call asks for that, the choice has only such paths.
bool same_bits(const Choice& choice, const Call& call) {
  return !info(call.collective).reduces || wants_rank_order(call) ||
         (choice.algorithm->name == name_of(choice.direct->mode) && call.op != ReduceOperator::avg);
}

/// On one machine processors decide, not wires: few long frames cost them least.
Cut cut_of(const Plan& plan, const Surroundings& around, std::size_t frame_bytes) {
  const bool wires = around.links == LinkClass::network && !around.one_machine;
  return wires ? cut_for_wires(plan.flow, frame_bytes, around.short_frames)
               : Cut{.frame_bytes = frame_bytes};
}

std::shared_ptr<const DirectCall> direct_call(const Choice& choice, const Call& call,
                                              DirectPlans& plans, const Surroundings& around,
                                              Counts counts) {
  const std::shared_ptr<DirectCall> direct = prepare_direct(*choice.direct, call, plans, counts);
  const bool equal = same_bits(choice, call);
  direct->copies = !direct->staged && around.copies && (choice.forced || equal);
  direct->measured =
      !choice.forced && equal && index_space_bytes(call, around.ranks) >= measured_from;
  return direct;
}

/// `otherwise`: the call by messages.
std::string words_of_direct(const DirectCall& direct, const std::string& over,
                            const std::string& otherwise) {
  const std::string mode(name_of(direct.ordinary_memory.plan.mode));
  const std::string measured = direct.measured ? " or " + otherwise + ", as measured" : "";
  if (direct.staged) return "direct " + mode + " through shared memory over " + over + measured;
  const std::string windows =
      "direct over " + over + ": in rondo::allocate() memory in place, else ";
  if (direct.copies) return windows + mode + " by the kernel's copies" + measured;
  return windows + otherwise;
}

}  // namespace

std::string_view name_of(DirectMode mode) {
  switch (mode) {
    case DirectMode::one_shot:
      return "one_shot";
    case DirectMode::two_shot:
      return "two_shot";
    case DirectMode::push:
      break;
  }
  return "two_shot pushing its results";
}

Call settled(Call call, const Config& config) {
  if (!info(call.collective).reduces || !is_float(call.type)) return call;
  call.reproducible = call.reproducible || config.reproducible;
  if (config.accumulate_wide && call.accumulate == call.type)
    call.accumulate = wide_type(call.type).value_or(call.type);
  return call;
}

std::size_t index_space_bytes(const Call& call, int ranks) {
  const bool whole = is_vector(call.collective) || call.blocks != 0;
  return call.count * size_of(call.type) * (whole ? 1 : static_cast<std::size_t>(ranks));
}

CallSize size_of(const Call& call, Counts counts, int ranks) {
  CallSize size(index_space_bytes(call, ranks));
  if (!counts.empty()) size.largest_block = std::ranges::max(counts) * size_of(call.type);
  return size;
}

std::shared_ptr<const Plan> make_plan(const Algorithm& algorithm, int root, int rank,
                                      const Surroundings& around) {
  Plan plan{.schedule = algorithm.build(around.ranks, root)};
  plan.program = lower(plan.schedule, rank, around.links == LinkClass::network);
  plan.longest = longest_message(plan.schedule);
  plan.flow = flow_of(plan.schedule);
  plan.direct = std::make_shared<DirectPlans>(algorithm.collective, around.ranks, root, rank);
  return std::make_shared<const Plan>(std::move(plan));
}

std::shared_ptr<PreparedCall> decide(const Choice& choice, std::shared_ptr<const Plan> plan,
                                     const Call& call, int rank, const Surroundings& around,
                                     std::size_t frame_bytes, Counts counts) {
  const Cut cut = cut_of(*plan, around, frame_bytes);
  const auto prepared = prepare(std::move(plan), call, rank, cut, choice.reason, counts);
  if (choice.direct)
    prepared->direct = direct_call(choice, call, *prepared->plan->direct, around, counts);
  return prepared;
}

std::string words(const PreparedCall& prepared, std::string_view over) {
  std::string text = prepared.plan->schedule.algorithm;
  if (!over.empty()) text += " over " + std::string(over);
  if (prepared.slicing.passes > 1) {
    text += " in " + std::to_string(prepared.slicing.passes) + " passes of " +
            std::to_string(prepared.slicing.slice * prepared.element_bytes) + " B a chunk";
  }
  if (prepared.direct) text = words_of_direct(*prepared.direct, std::string(over), text);
  return text + " (" + prepared.reason + ")";
}

std::string sentence(const PreparedCall& prepared, std::string_view over) {
  const Call& call = prepared.call;
  return full_name(call) + " of " + std::to_string(call.count) + " x " +
         std::string(name(call.type)) + (call.blocks != 0 ? " in all: " : ": ") +
         words(prepared, over);
}

}  // namespace rondo
