#include "algorithms/composition.h"

#include <algorithm>

namespace rondo {
namespace {

using enum Collective;

/// The collectives that run inside hosts, for one across them.
struct Insides {
  Collective collective;
  std::vector<Collective> inside;
};

const std::vector<Collective>& insides(Collective collective) {
  static const std::vector<Insides> rows{{all_reduce, {reduce, broadcast}},
                                         {reduce_scatter, {reduce}},
                                         {all_gather, {broadcast}},
                                         {broadcast, {broadcast}},
                                         {reduce, {reduce}}};
  static const std::vector<Collective> none;
  const auto row = std::ranges::find(rows, collective, &Insides::collective);
  return row == rows.end() ? none : row->inside;
}

bool serves_inside(Collective collective, std::string_view name) {
  const std::vector<Collective>& wanted = insides(collective);
  return !wanted.empty() && std::ranges::all_of(wanted, [&](Collective each) {
    const Algorithm* const row = find_algorithm(each, name);
    return row != nullptr && !row->cut.by_rank && row->cut.lanes == 1;
  });
}

/// The blocks of a share do not lie side by side, so a message with several of them would become
/// several messages, for which channels may have no room.
bool serves_across(const Algorithm& row) {
  if (is_vector(row.collective)) return true;
  constexpr int some_ranks = 6;
  const Schedule schedule = row.build(some_ranks, 0);
  for (int rank = 0; rank < some_ranks; ++rank) {
    Steps steps = schedule.steps(rank, 0);
    while (const Step* step = steps.next())
      if (step->kind == StepKind::send && step->from.count > 1) return false;
  }
  return true;
}

}  // namespace

std::string Composition::name() const {
  const std::string own(across->name);
  if (inside.empty()) return own;
  return std::string(hierarchical_name) + "(" + std::string(inside) + "," + own + ")";
}

Schedule Composition::build(const Topology& topology, int root) const {
  return inside.empty() ? across->build(topology.ranks, root)
                        : build_hierarchical(*this, topology, root);
}

int Composition::longest_message(const Topology& topology, int root) const {
  if (inside.empty()) return across->longest_message(topology.ranks, root);
  const Hosts hosts(topology);
  return across->longest_message(hosts.count(), hosts.host_of(root));
}

Composition find_composition(Collective collective, std::string_view name) {
  if (const Algorithm* const row = find_algorithm(collective, name)) return {.across = row};
  for (const Composition& each : hierarchical_compositions(collective))
    if (each.name() == name) return each;
  return {};
}

std::vector<Composition> hierarchical_compositions(Collective collective) {
  std::vector<Composition> all;
  for (const Algorithm& inside : algorithms()) {
    if (insides(collective).empty() || inside.collective != insides(collective).front() ||
        !serves_inside(collective, inside.name))
      continue;
    for (const Algorithm& across : algorithms())
      if (across.collective == collective && serves_across(across))
        all.push_back({&across, inside.name});
  }
  return all;
}

}  // namespace rondo
