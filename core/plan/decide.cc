#include "core/plan/decide.h"

#include <algorithm>
#include <cstdlib>

#include "core/plan/lower.h"
#include "core/plan/written.h"

namespace rondo {
namespace {

/// On one machine processors decide, not wires: few long frames cost them least.
Cut cut_of(const Plan& plan, const Topology& around, std::size_t frame_bytes) {
  const bool wires = around.links == LinkClass::network && !around.one_machine;
  return wires ? cut_for_wires(plan.flow, frame_bytes, around.short_frames)
               : Cut{.frame_bytes = frame_bytes};
}

/// `otherwise`: the call by messages.
std::string words_of_shared(const SharedCall& shared, const std::string& over,
                            const std::string& otherwise) {
  if (shared.places == Places::copies)
    return "direct " + shared.ordinary.plan->algorithm + " through shared memory over " + over;
  return "direct over " + over + ": in rondo::allocate() memory in place, else " + otherwise;
}

}  // namespace

Call resolved(Call call, const Config& config) {
  if (!info(call.collective).reduces || call.own != nullptr || !is_float(call.type)) return call;
  call.reproducible = call.reproducible || config.reproducible;
  if (config.accumulate_wide && call.accumulate == call.type)
    call.accumulate = wide_type(call.type).value_or(call.type);
  return call;
}

std::size_t index_space_bytes(const Call& call, int ranks) {
  const bool whole = is_vector(call.collective) || call.blocks != 0;
  return call.count * element_bytes(call) * (whole ? 1 : static_cast<std::size_t>(ranks));
}

CallSize size_of(const Call& call, Counts counts, int ranks) {
  CallSize size(index_space_bytes(call, ranks));
  if (!counts.empty()) size.largest_block = std::ranges::max(counts) * element_bytes(call);
  return size;
}

std::shared_ptr<const Plan> make_plan(const Composition& composition, int root, int rank,
                                      const Topology& around) {
  Plan plan{.schedule = composition.build(around, root)};
  const Fusion fusion =
      around.links == LinkClass::network ? Fusion::sends_from_place : Fusion::full;
  plan.program = composition.written
                     ? lower_written(plan.schedule, fusion)[static_cast<std::size_t>(rank)]
                     : lower(plan.schedule, rank, fusion);
  plan.longest = composition.longest_message(around, root);
  plan.flow = flow_of(plan.schedule);
  plan.shared = composition.written ? std::make_shared<SharedPlans>(plan.schedule, rank)
                                    : std::make_shared<SharedPlans>(composition.collective(),
                                                                    around.ranks, root, rank);
  return std::make_shared<const Plan>(std::move(plan));
}

std::shared_ptr<PreparedCall> decide(const Choice& choice, std::shared_ptr<const Plan> plan,
                                     const Call& call, int rank, const Topology& around,
                                     std::size_t frame_bytes, Counts counts) {
  const Cut cut = cut_of(*plan, around, frame_bytes);
  const auto prepared = prepare(std::move(plan), call, rank, cut, choice.reason, counts);
  if (choice.shared)
    prepared->shared = prepare_shared(*choice.shared, call, *prepared->plan->shared, counts);
  return prepared;
}

std::string words(const PreparedCall& prepared, std::string_view over) {
  std::string text = prepared.plan->schedule.algorithm;
  if (!over.empty()) text += " over " + std::string(over);
  if (prepared.slicing.passes > 1) {
    text += " in " + std::to_string(prepared.slicing.passes) + " passes of " +
            std::to_string(prepared.slicing.slice * prepared.element_bytes) + " B a chunk";
  }
  if (prepared.shared) text = words_of_shared(*prepared.shared, std::string(over), text);
  return text + " (" + prepared.reason + ")";
}

std::string sentence(const PreparedCall& prepared, std::string_view over) {
  const Call& call = prepared.call;
  return full_name(call) + " of " + std::to_string(call.count) + " x " +
         std::string(name(call.type)) + (call.blocks != 0 ? " in all: " : ": ") +
         words(prepared, over);
}

}  // namespace rondo
