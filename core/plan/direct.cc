#include "core/plan/direct.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/schedule/collective.h"

namespace rondo {
namespace {

using Ranks = std::vector<std::int32_t>;

/// A value and the ranks whose outputs hold it at the same chunk.
struct Wanted {
  std::int32_t chunk = 0;
  Expectation value{};
  Ranks consumers{};
};

Schedule header(Collective collective, DirectMode mode, int ranks, int root) {
  const bool shares =
      mode != DirectMode::one_shot && is_vector(collective) && info(collective).reduces;
  return {.collective = collective,
          .ranks = ranks,
          .root = root,
          .layout = make_layout(collective, ranks, shares ? ranks : 1)};
}

std::vector<Wanted> wanted_values(const Schedule& schedule) {
  std::vector<Wanted> result;
  for (int chunk = 0; chunk < schedule.layout.chunks(); ++chunk) {
    std::map<std::pair<int, int>, Wanted> by_value;
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      const auto value = expected(schedule, rank, chunk);
      if (!value) continue;
      Wanted& wanted = by_value[{value->source_chunk, value->rank}];
      wanted.chunk = chunk;
      wanted.value = *value;
      wanted.consumers.push_back(rank);
    }
    for (auto& [key, wanted] : by_value) result.push_back(std::move(wanted));
  }
  return result;
}

/// Who reduces a value: whom it is for, where there is one such rank and nobody may write into its
/// memory, or the blocks are one a rank; else the ranks in turn.
std::int32_t maker_of(const Wanted& wanted, DirectMode mode, const Schedule& schedule) {
  const bool for_one = wanted.consumers.size() == 1;
  if (for_one && (mode != DirectMode::push || !is_vector(schedule.collective)))
    return wanted.consumers[0];
  return wanted.chunk % schedule.ranks;
}

void add(Ranks& ranks, std::int32_t rank, int self) {
  if (rank != self && std::count(ranks.begin(), ranks.end(), rank) == 0) ranks.push_back(rank);
}

/// Notes in the plans of `maker` and of whom it touches. `at[r]` is rank r's plan.
class Planner {
 public:
  Planner(const Schedule& schedule, DirectMode mode) : schedule_(schedule), mode_(mode) {
    plans_.resize(static_cast<std::size_t>(schedule.ranks));
    for (DirectPlan& plan : plans_) {
      plan.mode = mode;
      plan.layout = schedule.layout;
    }
  }

  void want(const Wanted& wanted) {
    const bool copied = wanted.value.rank >= 0;
    if (copied || mode_ == DirectMode::one_shot) {
      for (const std::int32_t rank : wanted.consumers) make(rank, wanted, {rank}, false);
      return;
    }
    const std::int32_t maker = maker_of(wanted, mode_, schedule_);
    if (mode_ == DirectMode::push) return make(maker, wanted, wanted.consumers, false);
    make(maker, wanted, {maker}, wanted.consumers.size() > 1);
    for (const std::int32_t rank : wanted.consumers) {
      if (rank != maker) fetch(rank, maker, wanted.chunk);
    }
  }

  void everyone_meets() {
    for (int rank = 0; rank < schedule_.ranks; ++rank) {
      for (int peer = 0; peer < schedule_.ranks; ++peer) touch(rank, peer, 0);
    }
  }

  DirectPlan take(int rank) { return std::move(at(rank)); }

 private:
  DirectPlan& at(std::int32_t rank) { return plans_[static_cast<std::size_t>(rank)]; }

  void touch(std::int32_t rank, std::int32_t peer, std::size_t round) {
    add(at(rank).touches[round], peer, rank);
    add(at(peer).users, rank, peer);
  }

  void make(std::int32_t maker, const Wanted& wanted, Ranks into, bool shown) {
    const std::int32_t from = wanted.value.rank >= 0 ? wanted.value.rank : Move::everyone;
    for (const std::int32_t rank : into) touch(maker, rank, 0);
    for (std::int32_t rank = 0; rank < schedule_.ranks; ++rank) {
      if (from == Move::everyone || from == rank) touch(maker, rank, 0);
    }
    // The own output first: the others' copies are made from cached lines.
    const auto own = std::find(into.begin(), into.end(), maker);
    if (own != into.end()) std::iter_swap(into.begin(), own);
    at(maker).rounds[0].push_back(
        {wanted.chunk, wanted.value.source_chunk, from, std::move(into), shown});
  }

  void fetch(std::int32_t rank, std::int32_t maker, std::int32_t chunk) {
    touch(rank, maker, 1);
    at(rank).rounds[1].push_back({chunk, chunk, maker, {rank}, false});
  }

  const Schedule& schedule_;
  DirectMode mode_;
  std::vector<DirectPlan> plans_;
};

/// Ranks start at different peers, so that they do not all read the same memory at once.
void rotate(DirectPlan& plan, int rank) {
  const auto mine = [rank](const Move& move) { return move.chunk >= rank; };
  for (auto& moves : plan.rounds) {
    std::rotate(moves.begin(), std::find_if(moves.begin(), moves.end(), mine), moves.end());
  }
}

}  // namespace

DirectPlan plan_direct(Collective collective, DirectMode mode, int ranks, int root, int rank) {
  const Schedule schedule = header(collective, mode, ranks, root);
  Planner planner(schedule, mode);
  if (is_token(collective)) {
    planner.everyone_meets();
  } else {
    for (const Wanted& wanted : wanted_values(schedule)) planner.want(wanted);
  }
  DirectPlan plan = planner.take(rank);
  rotate(plan, rank);
  return plan;
}

}  // namespace rondo
