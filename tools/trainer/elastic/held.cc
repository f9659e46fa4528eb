#include "tools/trainer/elastic/held.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "tools/trainer/agreement.h"
#include "tools/trainer/checkpoint/pieces.h"

namespace rondo::train {
namespace {

static_assert(std::is_trivially_copyable_v<StepRecord>);
static_assert(std::is_trivially_copyable_v<Position>);
static_assert(std::is_trivially_copyable_v<Offer>);

/// Collective: the values of `root`, on every rank.
template <class Value>
void broadcast(Communicator& world, std::vector<Value>& values, int root) {
  std::uint64_t count = values.size();
  world.broadcast(&count, &count, 1, DataType::uint64, root);
  values.resize(count);
  world.broadcast(values.data(), values.data(), count * sizeof(Value), DataType::uint8, root);
}

/// Collective: everyone's values, in rank order.
template <class Value>
std::vector<Value> gather(Communicator& world, const std::vector<Value>& own) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(world.size()));
  const std::uint64_t bytes = own.size() * sizeof(Value);
  world.all_gather(&bytes, counts.data(), 1, DataType::uint64);
  std::size_t sum = 0;
  for (const std::size_t count : counts) sum += count;
  std::vector<Value> all(sum / sizeof(Value));
  world.all_gather_v(own.data(), all.data(), counts, DataType::uint8);
  return all;
}

std::vector<Offer> offers_of(const Held& held, int rank) {
  std::vector<Offer> offers;
  for (const Held::Part& part : held.parts)
    offers.push_back({held.position.step, static_cast<std::uint64_t>(rank), part.begin,
                      part.begin + part.arrays.front().size()});
  return offers;
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

/// What is common to a part of the model that travels and a rank's own shard.
void copy_common(const Machine& machine, std::span<const float> values, std::size_t begin,
                 std::span<float> shard, std::size_t shard_begin) {
  const std::size_t from = std::max(begin, shard_begin);
  const std::size_t to = std::min(begin + values.size(), shard_begin + shard.size());
  if (from >= to) return;
  machine.write(values.data() + (from - begin), shard.data() + (from - shard_begin),
                (to - from) * sizeof(float));
}

/// Collective. Every part goes to every rank, which takes what it needs.
class Transfer {
 public:
  Transfer(Session& session, Communicator& world, const Held& held)
      : session_(session), world_(world), held_(held), shards_(session.strategy().shards()) {}

  void run(const std::vector<Offer>& chosen) {
    for (const Offer& offer : chosen) {
      for (std::size_t array = 0; array <= session_.optimizer().states(); ++array)
        each_piece_of(offer.end - offer.begin, [&](std::size_t first, std::span<float> values) {
          piece(offer, array, offer.begin + first, values);
        });
    }
    session_.strategy().shards_changed();
    session_.strategy().settle();
  }

 private:
  void piece(const Offer& offer, std::size_t array, std::size_t begin, std::span<float> values) {
    const auto root = static_cast<int>(offer.rank);
    if (root == world_.rank()) fill(array, begin, values);
    world_.broadcast(values.data(), values.data(), values.size(), DataType::float32, root);
    for (const Range& shard : shards_)
      copy_common(session_.machine(), values, begin, array_of(shard, array), shard.begin);
  }

  void fill(std::size_t array, std::size_t begin, std::span<float> values) const {
    for (const Held::Part& part : held_.parts) {
      const auto& own = part.arrays[array];
      if (begin < part.begin || begin + values.size() > part.begin + own.size()) continue;
      const auto from = own.begin() + static_cast<std::ptrdiff_t>(begin - part.begin);
      std::copy_n(from, values.size(), values.begin());
    }
  }

  Session& session_;
  Communicator& world_;
  const Held& held_;
  std::vector<Range> shards_;
};

/// Collective: the steps up to `last` by the lowest rank that has done them all.
std::vector<StepRecord> common_steps(Communicator& world, const Held& held, std::size_t last) {
  int giver = held.position.step >= last ? world.rank() : world.size();
  world.all_reduce(&giver, &giver, 1, DataType::int32, ReduceOperator::min);
  std::vector<StepRecord> steps = held.steps;
  std::erase_if(steps, [&](const StepRecord& step) { return step.step > last; });
  broadcast(world, steps, giver);
  return steps;
}

[[noreturn]] void throw_lost(const Options& options, const std::string& lost) {
  throw AgreedError(
      ErrorCode::peer_lost,
      "the state of the training " + lost + ": no rank has it all, and there is no checkpoint",
      {.remedy = options.strategy.kind == "ddp"
                     ? "--checkpoint DIR"
                     : "--checkpoint DIR, or --strategy ddp, with which every rank "
                       "holds everything"});
}

}  // namespace

Held hold(Run& run) {
  Session& session = run.session();
  Held held{.position = session.position(), .parts = {}, .steps = run.steps()};
  std::erase_if(held.steps, [&](const StepRecord& step) { return step.step > held.position.step; });
  if (!session.strategy().is_whole()) return held;
  const std::size_t arrays = session.optimizer().states() + 1;
  for (const Range& shard : session.strategy().shards_now()) {
    Held::Part part{.begin = shard.begin, .arrays = {}};
    for (std::size_t array = 0; array < arrays; ++array) {
      const std::span<const float> from = array_of(shard, array);
      auto& into = part.arrays.emplace_back(from.size());
      session.machine().read(from.data(), into.data(), from.size_bytes());
    }
    held.parts.push_back(std::move(part));
  }
  return held;
}

std::vector<Offer> newest_whole(std::span<const Offer> offers, std::size_t size) {
  std::vector<std::uint64_t> steps;
  for (const Offer& offer : offers) steps.push_back(offer.step);
  std::ranges::sort(steps, std::greater<>());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  for (const std::uint64_t step : steps) {
    std::vector<Offer> same;
    std::ranges::copy_if(offers, std::back_inserter(same),
                         [&](const Offer& offer) { return offer.step == step; });
    if (auto chosen = chain(std::move(same), size); !chosen.empty()) return chosen;
  }
  return {};
}

Restored restore(Run& run, const Held& held, const Options& options, Communicator& world,
                 const std::string& lost, bool unfinished) {
  Session& session = run.session();
  std::uint64_t from = held.position.step;
  world.all_reduce(&from, &from, 1, DataType::uint64, ReduceOperator::max);
  const auto offers = gather(world, offers_of(held, world.rank()));
  const auto chosen = newest_whole(offers, session.layout().size());
  if (!chosen.empty()) {
    Transfer(session, world, held).run(chosen);
    std::vector<Position> position{held.position};
    broadcast(world, position, static_cast<int>(chosen.front().rank));
    session.set_position(position.front());
  } else if (from == 0) {
    run.start();
    return {0, session.position().step};
  } else if (options.checkpoint.folder.empty()) {
    throw_lost(options, lost);
  } else if (const auto found = run.checkpoints().go_back(); found.position) {
    session.set_position(*found.position);
  }
  const std::size_t step = session.position().step;
  run.go_on(common_steps(world, held, step), unfinished && !chosen.empty());
  return {from, step};
}

}  // namespace rondo::train
