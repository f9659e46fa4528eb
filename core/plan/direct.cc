#include "core/plan/direct.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/schedule/collective.h"

namespace rondo {
namespace {

using Ranks = std::vector<std::int32_t>;

Schedule header(Collective collective, DirectMode mode, int ranks, int root) {
  const bool shares =
      mode != DirectMode::one_shot && is_vector(collective) && info(collective).reduces;
  return {.collective = collective,
          .ranks = ranks,
          .root = root,
          .layout = make_layout(collective, ranks, shares ? ranks : 1)};
}

/// The rank that makes a sum. It is the rank that the sum is for, if there is one such rank and no
/// other may write into its memory, or if there is one block per rank. Else the ranks in turn.
std::int32_t maker_of(int chunk, const Ranks& consumers, DirectMode mode,
                      const Schedule& schedule) {
  const bool for_one = consumers.size() == 1;
  if (for_one && (mode != DirectMode::push || !is_vector(schedule.collective))) return consumers[0];
  return chunk % schedule.ranks;
}

/// Ranks in the order in which they came, each once.
class RankSet {
 public:
  explicit RankSet(int ranks) : has_(static_cast<std::size_t>(ranks)) {}
  void add(std::int32_t rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (!has_[at]) list_.push_back(rank);
    has_[at] = true;
  }
  Ranks take() { return std::move(list_); }

 private:
  Ranks list_{};
  std::vector<bool> has_;
};

/// Goes through what every rank makes and reads, and notes this rank's part of it.
class Planner {
 public:
  Planner(const Schedule& schedule, DirectMode mode, int self)
      : schedule_(schedule),
        self_(self),
        touches_{RankSet(schedule.ranks), RankSet(schedule.ranks)},
        users_(schedule.ranks) {
    plan_.mode = mode;
    plan_.layout = schedule.layout;
  }

  /// All that the ranks' outputs hold at a chunk.
  void chunk(int chunk) {
    Ranks consumers;  // of the chunk's sum, which is the same for all of them
    for (std::int32_t rank = 0; rank < schedule_.ranks; ++rank) {
      const auto value = expected(schedule_, rank, chunk);
      if (!value) continue;
      if (value->rank < 0 && plan_.mode != DirectMode::one_shot) {
        consumers.push_back(rank);
      } else {
        make(rank, {chunk, value->source_chunk, value->rank, {}, false}, {&rank, 1});
      }
    }
    if (!consumers.empty()) sum(chunk, consumers);
  }

  void everyone_meets() {
    for (std::int32_t peer = 0; peer < schedule_.ranks; ++peer) {
      touch(self_, peer, 0);
      touch(peer, self_, 0);
    }
  }

  DirectPlan take() {
    for (std::size_t round = 0; round < 2; ++round) plan_.touches[round] = touches_[round].take();
    plan_.users = users_.take();
    return std::move(plan_);
  }

 private:
  void touch(std::int32_t rank, std::int32_t peer, std::size_t round) {
    if (rank == peer) return;
    if (rank == self_) touches_[round].add(peer);
    if (peer == self_) users_.add(rank);
  }

  void sum(int chunk, const Ranks& consumers) {
    const std::int32_t maker = maker_of(chunk, consumers, plan_.mode, schedule_);
    Move move{.chunk = chunk, .source_chunk = chunk};
    if (plan_.mode == DirectMode::push) return make(maker, std::move(move), consumers);
    move.shown = consumers.size() > 1;
    make(maker, std::move(move), {&maker, 1});
    for (const std::int32_t rank : consumers) {
      if (rank != maker) fetch(rank, maker, chunk);
    }
  }

  void give(std::int32_t from, std::int32_t to, std::int32_t chunk) {
    if (from == self_ && to != self_) plan_.given.push_back(chunk);
  }

  void make(std::int32_t maker, Move move, std::span<const std::int32_t> into) {
    for (const std::int32_t rank : into) {
      touch(maker, rank, 0);
      give(maker, rank, move.chunk);
    }
    const bool reads_self = move.from == Move::everyone || move.from == self_;
    if (reads_self) give(self_, maker, move.source_chunk);
    if (move.from != Move::everyone) {
      touch(maker, move.from, 0);
    } else if (maker != self_) {
      touch(maker, self_, 0);
    } else {
      for (std::int32_t rank = 0; rank < schedule_.ranks; ++rank) touch(maker, rank, 0);
    }
    if (maker != self_) return;
    move.into.assign(into.begin(), into.end());
    // The own output first: the others' copies are made from cached lines.
    const auto own = std::find(move.into.begin(), move.into.end(), maker);
    if (own != move.into.end()) std::iter_swap(move.into.begin(), own);
    plan_.rounds[0].push_back(std::move(move));
  }

  void fetch(std::int32_t rank, std::int32_t maker, std::int32_t chunk) {
    touch(rank, maker, 1);
    give(maker, rank, chunk);
    if (rank == self_) plan_.rounds[1].push_back({chunk, chunk, maker, {rank}, false});
  }

  const Schedule& schedule_;
  std::int32_t self_;
  DirectPlan plan_{};
  std::array<RankSet, 2> touches_;
  RankSet users_;
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
  Planner planner(schedule, mode, rank);
  if (is_token(collective)) planner.everyone_meets();
  for (int chunk = 0; !is_token(collective) && chunk < schedule.layout.chunks(); ++chunk)
    planner.chunk(chunk);
  DirectPlan plan = planner.take();
  rotate(plan, rank);
  return plan;
}

const DirectPlan& DirectPlans::of(DirectMode mode) {
  std::optional<DirectPlan>& plan = plans_[static_cast<std::size_t>(mode)];
  if (!plan) plan = plan_direct(collective_, mode, ranks_, root_, rank_);
  return *plan;
}

}  // namespace rondo
