#include "tools/rondo/synthesize/search.h"

#include <algorithm>
#include <random>

#include "tools/rondo/predict.h"
#include "tools/rondo/synthesize/weave.h"

namespace rondo::tool {
namespace {

constexpr int calls = 6;  ///< in a loop, while schedules are compared

/// Steps that all simulations together may take, first of packings, then of changes. A minute or so.
constexpr double packing_budget = 40e6;
constexpr double change_budget = 30e6;
constexpr int most_changes = 500;

/// How much it counts what calls take whose messages are not cut into slices. Slices hide in the
/// simulator what ranks wait for each other; programs have only some of them under way at once.
constexpr double whole_weight = 0.2;

constexpr int pieces_tried[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 32};
constexpr unsigned seeds_tried = 4;  ///< as far as the budget goes
constexpr double hastes_tried[] = {0, 0.3, 3, 100};
constexpr int lanes_tried[] = {1, 2, 4, 8, most_lanes};

class Search {
 public:
  Search(const SearchInput& input, const Topology& topology, const Network& network)
      : input_(input),
        topology_(topology),
        network_(network),
        demands_(demands_of(input.collective, topology.ranks, input.root)) {}

  Synthesized run() {
    budget_ = packing_budget * input_.effort;
    std::vector<int> all(std::begin(pieces_tried), std::end(pieces_tried));
    if (std::ranges::count(all, network_.ranks()) == 0) all.push_back(network_.ranks());
    for (unsigned seed = 0; seed < seeds_tried; ++seed)
      for (const int pieces : all)
        for (const double haste : hastes_tried)
          if (input_.pieces == 0 || input_.pieces == pieces)
            try_packing({pieces, haste, input_.bytes, seed});
    budget_ = change_budget * input_.effort;
    change();
    return best_;
  }

 private:
  bool all_reduces() const { return demands_.front().direction == Direction::both; }

  void try_packing(const PackingChoice& choice) {
    const std::size_t trees = demands_.size() * at(choice.pieces);
    const std::size_t messages = trees * at(network_.ranks()) * (all_reduces() ? 2 : 1);
    if (best_.tried > 0 && (messages > input_.most_messages || budget_ <= 0)) return;
    const Packing packing = pack(network_, demands_, choice);
    for (const int lanes : lanes_tried) {
      const int used = consider(packing, {lanes, false});
      if (demands_.front().direction == Direction::up) consider(packing, {lanes, true});
      if (used < lanes) break;  // there are no more trees
    }
  }

  /// The lanes of the schedule; 0: it was not tried.
  int consider(const Packing& packing, const Weave& how) {
    if (best_.tried > 0 && budget_ <= 0) return 0;
    const Schedule schedule =
        weave(input_.collective, input_.root, network_, demands_, packing, input_.bytes, how);
    const double messages =
        static_cast<double>(packing.trees.size()) * network_.ranks() * (all_reduces() ? 2 : 1);
    budget_ -= 2 * messages * (calls + 1) * slices_as_run(schedule, input_.bytes, topology_);
    const double seconds = seconds_in_loop(schedule, input_.bytes, topology_, network_, calls);
    const double whole =
        simulate_loop(schedule, input_.bytes, {}, topology_, calls).busiest().seconds;
    const double score = (1 - whole_weight) * seconds + whole_weight * whole;
    ++best_.tried;
    if (best_.schedule.steps && score >= score_ * (1 - 1e-6)) return schedule.lanes;
    best_.schedule = schedule;
    score_ = score;
    packing_ = packing;
    how_ = how;
    return schedule.lanes;
  }

  /// Other parents for single ranks, as long as there is something left to spend.
  void change() {
    std::mt19937 chance;  // NOLINT: the same every time is what is wanted
    const auto below = [&](std::size_t count) { return chance() % count; };
    for (int change = 0; change < most_changes && budget_ > 0; ++change) {
      Packing changed = packing_;
      Tree& tree = changed.trees[below(changed.trees.size())];
      const std::size_t child = below(tree.parent.size());
      const int parent = static_cast<int>(below(tree.parent.size()));
      if (tree.parent[child] < 0 || tree.parent[child] == parent) continue;
      tree.parent[child] = parent;
      if (depths_of(tree)[child] > 0) consider(changed, how_);
    }
  }

  SearchInput input_;
  const Topology& topology_;
  const Network& network_;
  std::vector<Demand> demands_;
  double budget_ = 0;
  Synthesized best_{};
  double score_ = 0;   ///< of the best
  Packing packing_{};  ///< of the best
  Weave how_{};
};

}  // namespace

double seconds_in_loop(const Schedule& schedule, double bytes, const Topology& topology,
                       const Network& network, int calls) {
  std::vector<double> busy(at(network.resources()));
  const double chunk = bytes / schedule.layout.chunks();
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int lane = 0; lane < schedule.lanes; ++lane) {
      Steps steps = schedule.steps(rank, lane);
      while (const Step* step = steps.next()) {
        if (step->kind != StepKind::send) continue;
        for (const int resource : network.crossed(rank, step->peer))
          busy[at(resource)] += step->from.count * chunk * network.beta(resource);
      }
    }
  }
  return std::max(*std::ranges::max_element(busy),
                  simulate_loop_as_run(schedule, bytes, topology, {}, calls).busiest().seconds);
}

Synthesized synthesize(const SearchInput& input, const Topology& topology, const Network& network) {
  return Search(input, topology, network).run();
}

}  // namespace rondo::tool
