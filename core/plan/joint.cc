#include "core/plan/joint.h"

#include "algorithms/table.h"
#include "core/plan/merge.h"

namespace rondo {
namespace {

JointPlan joint_plan(const Schedule& schedule) {
  const auto programs = *merge(schedule, {.places = Places::buffers});
  JointPlan plan{.layout = schedule.layout};
  for (std::int32_t rank = 0; rank < schedule.ranks; ++rank) {
    const Program& program = programs[static_cast<std::size_t>(rank)];
    for (const Op& op : program.ops) {
      const auto operands = program.operands_of(op);
      JointOp joint{op.into, {operands.begin(), operands.end()}};
      for (Operand& operand : joint.operands)
        if (operand.is_local()) operand = {rank, operand.chunk, true};
      std::vector<std::int32_t>& targets = plan.ops[std::move(joint)];
      if (op.writes) targets.push_back(rank);
      const auto stores = program.stores_of(op);
      targets.insert(targets.end(), stores.begin(), stores.end());
    }
  }
  return plan;
}

}  // namespace

const JointPlan& JointPlans::of(Collective collective, int root) {
  if (!info(collective).has_root) root = 0;
  const auto found = plans_.find({collective, root});
  if (found != plans_.end()) return found->second;
  const Algorithm* const one_shot = find_algorithm(collective, "one_shot");
  const Algorithm& row = one_shot != nullptr ? *one_shot : *find_algorithm(collective, "linear");
  return plans_.emplace(std::pair(collective, root), joint_plan(row.build(ranks_, root)))
      .first->second;
}

}  // namespace rondo
