#include "algorithms/composition.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/base/undying.h"

namespace rondo {
namespace {

using enum Collective;

/// A row of a collective that has compositions: what runs inside hosts around it.
struct Insides {
  Collective collective;
  InsideCollectives shared{};      ///< where the ranks of a host share the work
  InsideCollectives by_leaders{};  ///< where one of them does it
};

constexpr Insides all_insides[] = {
    {all_reduce, {reduce, broadcast}, {reduce, broadcast}},
    {reduce_scatter, {reduce, {}}, {reduce, scatter}},
    {all_gather, {{}, broadcast}, {gather, broadcast}},
    {broadcast, {}, {{}, broadcast}},
    {reduce, {}, {reduce, {}}},
    {gather, {}, {gather, {}}},
    {scatter, {}, {{}, scatter}},
    {barrier, {}, {reduce, broadcast}},
    {all_to_all, {all_to_all, all_to_all}, {}},
};

const Insides* find_insides(Collective collective) {
  const auto row = std::ranges::find(all_insides, collective, &Insides::collective);
  return row == std::end(all_insides) ? nullptr : &*row;
}

/// Whether an algorithm goes inside hosts. In all_reduce, reduce_scatter and all_gather it is one of
/// vectors; blocks go straight there (linear).
bool serves_inside(Collective collective, std::string_view name) {
  const auto serves = [&](std::optional<Collective> each) {
    if (!each || (!is_vector(*each) && *each != collective)) return true;
    const Algorithm* const row = find_algorithm(*each, name);
    const bool in_pieces = collective == all_to_all && row != nullptr && row->cut.bundled;
    return row != nullptr && !row->cut.by_rank && row->cut.lanes == 1 && !in_pieces;
  };
  const Insides& insides = *find_insides(collective);
  return serves(insides.shared.before) && serves(insides.shared.after) &&
         serves(insides.by_leaders.before) && serves(insides.by_leaders.after);
}

/// Each name once. The one with the fewest hops comes first.
std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names{"one_shot"};
  for (const Algorithm& row : algorithms())
    if (std::ranges::count(names, row.name) == 0) names.push_back(row.name);
  return names;
}

std::vector<Composition> make_two_levels(Collective collective) {
  std::vector<Composition> all;
  if (find_insides(collective) == nullptr) return all;
  for (const std::string_view inside : all_names()) {
    if (!serves_inside(collective, inside)) continue;
    for (const Algorithm& across : algorithms()) {
      if (across.collective != collective) continue;
      if (collective != all_to_all || !across.cut.bundled) all.push_back({&across, inside});
    }
  }
  return all;
}

std::vector<Composition> make_three_levels(Collective collective) {
  std::vector<Composition> all;
  const Insides* const row = find_insides(collective);
  const auto is_whole = [](const InsideCollectives& inside) {
    return (inside.before && is_vector(*inside.before)) ||
           (inside.after && is_vector(*inside.after));
  };
  if (row == nullptr || !(is_whole(row->shared) || is_whole(row->by_leaders))) return all;
  for (const Composition& two : make_two_levels(collective)) {
    for (const std::string_view socket : all_names())
      if (serves_inside(collective, socket)) all.push_back({two.across, two.inside, socket});
  }
  return all;
}

}  // namespace

std::string Composition::name() const {
  if (written) return written.algorithm();
  const std::string own(across->name);
  if (inside.empty()) return own;
  const std::string first = socket.empty() ? "" : std::string(socket) + ",";
  return std::string(hierarchical_name) + "(" + first + std::string(inside) + "," + own + ")";
}

bool Composition::by_leaders() const {
  switch (across->collective) {
    case all_reduce:
      return !across->cut.by_rank;
    case reduce_scatter:
    case all_gather:
      return across->cut.bundled;
    case all_to_all:
      return false;
    default:
      return true;
  }
}

int Composition::shares(const Hosts& hosts) const {
  if (!is_vector(across->collective)) return 1;
  if (across->collective == all_reduce && across->cut.by_rank) return hosts.largest();
  return across->cut.passed_on ? std::min(hosts.ports(), hosts.largest()) : 1;
}

InsideCollectives Composition::inside_collectives() const {
  const Insides& row = *find_insides(across->collective);
  return by_leaders() ? row.by_leaders : row.shared;
}

Schedule Composition::build(const Topology& topology, int root) const {
  if (written) return written.build_right(topology, root);
  return inside.empty() ? across->build(topology.ranks, root)
                        : build_hierarchical(*this, topology, root);
}

int Composition::longest_message(const Topology& topology, int root) const {
  if (written) return rondo::longest_message(written.build(topology, root));
  if (inside.empty()) return across->longest_message(topology.ranks, root);
  const Hosts hosts(topology);
  if (across->collective == all_to_all) return longest_bundle(hosts);
  const int blocks = !is_vector(across->collective) && by_leaders() ? hosts.largest() : 1;
  return blocks * across->longest_message(hosts.count(), hosts.host_of(root));
}

Composition find_composition(Collective collective, std::string_view name) {
  if (const Algorithm* const row = find_algorithm(collective, name)) return {.across = row};
  if (!name.starts_with(hierarchical_name)) return {};
  for (const Levels levels : {Levels::two, Levels::three})
    for (const Composition& each : hierarchical_compositions(collective, levels))
      if (each.name() == name) return each;
  return {};
}

const std::vector<Composition>& hierarchical_compositions(Collective collective, Levels levels) {
  using Of = std::array<std::vector<Composition>, 2>;
  using All = std::array<Of, collectives.size()>;
  static const All& all = *undying<All>([] {
    All made;
    for (const CollectiveInfo& row : collectives)
      made[static_cast<std::size_t>(row.collective)] = {make_two_levels(row.collective),
                                                        make_three_levels(row.collective)};
    return made;
  }());
  return all[static_cast<std::size_t>(collective)][static_cast<std::size_t>(levels)];
}

}  // namespace rondo
