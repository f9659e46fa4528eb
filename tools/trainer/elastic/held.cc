#include "tools/trainer/elastic/held.h"

#include <algorithm>
#include <functional>
#include <set>
#include <type_traits>
#include <utility>

#include "bench/common/gather.h"
#include "tools/trainer/agreement.h"

namespace rondo::train {
namespace {

static_assert(std::is_trivially_copyable_v<StepRecord>);
static_assert(std::is_trivially_copyable_v<Position>);

/// Collective. All that these ranks hold goes to every rank, which takes what it needs.
void exchange(Session& session, Communicator& world, const Held& held,
              const std::vector<int>& givers) {
  const auto pieces = pieces_of(session.strategy().shards(), session.layout().size());
  for (const int giver : givers) {
    std::vector<Extent> parts;
    for (const Held::Part& own : held.parts) parts.push_back({own.place, own.values.size()});
    broadcast_whole(world, parts, giver);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      each_piece_of(parts[i].size, [&](std::size_t first, std::span<float> values) {
        if (giver == world.rank())
          std::copy_n(held.parts[i].values.data() + first, values.size(), values.data());
        world.broadcast(values, giver);
        const std::uint64_t place = parts[i].begin + first;
        for (const Piece& piece : pieces) {
          const std::uint64_t from = std::max(place, piece.place);
          const std::uint64_t end =
              std::min(place + values.size(), piece.place + piece.values.size());
          if (from < end)
            session.machine().write(values.data() + (from - place),
                                    piece.values.data() + (from - piece.place),
                                    (end - from) * sizeof(float));
        }
      });
    }
  }
  session.strategy().shards_changed();
  session.strategy().settle();
}

/// Collective: the steps up to `last` by the lowest rank that has done them all.
std::vector<StepRecord> common_steps(Communicator& world, const Held& held, std::size_t last) {
  int giver = held.position.step >= last ? world.rank() : world.size();
  world.all_reduce(giver, ReduceOperator::min);
  std::vector<StepRecord> steps = held.steps;
  std::erase_if(steps, [&](const StepRecord& step) { return step.step > last; });
  broadcast_whole(world, steps, giver);
  return steps;
}

}  // namespace

Held hold(Run& run) {
  Session& session = run.session();
  Held held{.ranks = static_cast<std::uint64_t>(session.run_record().ranks),
            .position = session.position(),
            .parts = {},
            .steps = run.steps()};
  std::erase_if(held.steps, [&](const StepRecord& step) { return step.step > held.position.step; });
  if (!session.strategy().is_whole()) return held;
  for (const auto& [place, values] :
       pieces_of(session.strategy().shards_now(), session.layout().size())) {
    held.parts.push_back({place, std::vector<float>(values.size())});
    session.machine().read(values.data(), held.parts.back().values.data(), values.size_bytes());
  }
  return held;
}

std::vector<int> newest_whole(std::span<const Offer> offers, std::size_t size) {
  // Shares of one step may be of two partitions, where more ranks were to come and one died.
  std::set<std::pair<std::uint64_t, std::uint64_t>, std::greater<>> states;
  for (const Offer& offer : offers) states.insert({offer.step, offer.ranks});
  for (const auto& [step, sharers] : states) {
    std::vector<int> ranks;
    std::size_t held = 0;
    for (std::size_t rank = 0; rank < offers.size() && held < size; ++rank) {
      const Offer& offer = offers[rank];
      if (offer.step != step || offer.ranks != sharers || offer.elements == 0) continue;
      ranks.push_back(static_cast<int>(rank));
      held += offer.elements;
    }
    if (held == size) return ranks;
  }
  return {};
}

Restored restore(Run& run, const Held& held, const Options& options, Communicator& world,
                 const std::string& lost, bool unfinished) {
  Session& session = run.session();
  std::uint64_t from = held.position.step;
  world.all_reduce(from, ReduceOperator::max);
  Offer own{held.position.step, 0, held.ranks};
  for (const Held::Part& part : held.parts) own.elements += part.values.size();
  const std::size_t arrays = session.optimizer().states() + 1;
  const auto givers = newest_whole(bench::gather_all(world, own), arrays * session.layout().size());
  if (!givers.empty()) {
    exchange(session, world, held, givers);
    std::vector<Position> position{held.position};
    broadcast_whole(world, position, givers.front());
    session.set_position(position.front());
  } else if (from == 0) {
    run.start();
    return {0, session.position().step};
  } else if (options.checkpoint.folder.empty()) {
    const bool holds_all = options.strategy.kind == "ddp";
    reject_together(
        "the state of the training " + lost + ": no rank has it all, and there is no checkpoint",
        std::string("--checkpoint DIR") +
            (holds_all ? "" : ", or --strategy ddp, with which every rank holds everything"),
        ErrorCode::peer_lost);
  } else {
    run.checkpoints().go_back();
  }
  const std::size_t step = session.position().step;
  run.go_on(common_steps(world, held, step), unfinished && !givers.empty());
  return {from, step};
}

}  // namespace rondo::train
