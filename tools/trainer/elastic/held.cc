#include "tools/trainer/elastic/held.h"

#include <algorithm>
#include <functional>
#include <map>
#include <type_traits>
#include <utility>

#include "tools/trainer/agreement.h"

namespace rondo::train {
namespace {

static_assert(std::is_trivially_copyable_v<StepRecord>);
static_assert(std::is_trivially_copyable_v<Position>);
static_assert(std::is_trivially_copyable_v<Offer>);

/// Collective: everyone's values, in rank order.
template <class Value>
std::vector<Value> gather(Communicator& world, const std::vector<Value>& own) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(world.size()));
  const std::uint64_t bytes = own.size() * sizeof(Value);
  world.all_gather(bytes, counts);
  std::size_t sum = 0;
  for (const std::size_t count : counts) sum += count;
  std::vector<Value> all(sum / sizeof(Value));
  world.all_gather_v(own.data(), all.data(), counts, DataType::uint8);
  return all;
}

/// The parts of one step in the order of their beginnings, without what others before them cover.
std::vector<Offer> chain(std::vector<Offer> offers, std::size_t size) {
  std::ranges::stable_sort(offers, {}, &Offer::begin);
  std::vector<Offer> chosen;
  std::size_t end = 0;
  for (Offer offer : offers) {
    if (offer.begin > end) return {};
    offer.begin = end;
    if (offer.end <= end) continue;
    end = offer.end;
    chosen.push_back(offer);
  }
  if (end != size) return {};
  return chosen;
}

/// copy(place in the one, place in the other, count) for what two runs have in common.
template <class Copy>
void each_common(std::uint64_t one, std::size_t size, std::uint64_t other, std::size_t other_size,
                 Copy copy) {
  const std::uint64_t from = std::max(one, other);
  const std::uint64_t to = std::min(one + size, other + other_size);
  if (from < to) copy(from - one, from - other, to - from);
}

/// Collective. Every chosen part goes to every rank, which takes what it needs.
void exchange(Session& session, Communicator& world, const Held& held,
              std::span<const Offer> chosen) {
  const auto pieces = pieces_of(session.strategy().shards(), session.layout().size());
  for (const Offer& offer : chosen) {
    const int giver = static_cast<int>(offer.rank);
    each_piece_of(offer.end - offer.begin, [&](std::size_t first, std::span<float> values) {
      const std::uint64_t place = offer.begin + first;
      for (const Held::Part& own : held.parts) {
        if (giver != world.rank()) break;
        each_common(own.place, own.values.size(), place, values.size(),
                    [&](std::size_t from, std::size_t to, std::size_t count) {
                      std::copy_n(own.values.data() + from, count, values.data() + to);
                    });
      }
      world.broadcast(values, giver);
      for (const Piece& piece : pieces) {
        each_common(place, values.size(), piece.place, piece.values.size(),
                    [&](std::size_t from, std::size_t to, std::size_t count) {
                      session.machine().write(values.data() + from, piece.values.data() + to,
                                              count * sizeof(float));
                    });
      }
    });
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
  Held held{.position = session.position(), .parts = {}, .steps = run.steps()};
  std::erase_if(held.steps, [&](const StepRecord& step) { return step.step > held.position.step; });
  if (!session.strategy().is_whole()) return held;
  for (const auto& [place, values] :
       pieces_of(session.strategy().shards_now(), session.layout().size())) {
    held.parts.push_back({place, std::vector<float>(values.size())});
    session.machine().read(values.data(), held.parts.back().values.data(), values.size_bytes());
  }
  return held;
}

std::vector<Offer> newest_whole(std::span<const Offer> offers, std::size_t size) {
  std::map<std::uint64_t, std::vector<Offer>, std::greater<>> by_step;
  for (const Offer& offer : offers) by_step[offer.step].push_back(offer);
  for (const auto& [step, same] : by_step)
    if (auto chosen = chain(same, size); !chosen.empty()) return chosen;
  return {};
}

Restored restore(Run& run, const Held& held, const Options& options, Communicator& world,
                 const std::string& lost, bool unfinished) {
  Session& session = run.session();
  std::uint64_t from = held.position.step;
  world.all_reduce(from, ReduceOperator::max);
  std::vector<Offer> own;
  for (const Held::Part& part : held.parts)
    own.push_back({held.position.step, static_cast<std::uint64_t>(world.rank()), part.place,
                   part.place + part.values.size()});
  const auto offers = gather(world, own);
  const std::size_t arrays = session.optimizer().states() + 1;
  const auto chosen = newest_whole(offers, arrays * session.layout().size());
  if (!chosen.empty()) {
    exchange(session, world, held, chosen);
    std::vector<Position> position{held.position};
    broadcast_whole(world, position, static_cast<int>(chosen.front().rank));
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
  run.go_on(common_steps(world, held, step), unfinished && !chosen.empty());
  return {from, step};
}

}  // namespace rondo::train
