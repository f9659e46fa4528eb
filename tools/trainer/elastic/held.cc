#include "tools/trainer/elastic/held.h"

#include <algorithm>
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

std::vector<Offer> offers_of(const Held& held, int rank) {
  std::vector<Offer> offers;
  for (const Held::Part& part : held.parts)
    offers.push_back({held.position.step, static_cast<std::uint64_t>(rank), part.place,
                      part.place + part.values.size()});
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

/// What is common to values that travel and a rank's own piece.
void copy_common(const Machine& machine, std::span<const float> values, std::uint64_t place,
                 const Piece& piece) {
  const std::uint64_t from = std::max(place, piece.place);
  const std::uint64_t to = std::min(place + values.size(), piece.place + piece.values.size());
  if (from >= to) return;
  machine.write(values.data() + (from - place), piece.values.data() + (from - piece.place),
                (to - from) * sizeof(float));
}

/// Collective. Every part goes to every rank, which takes what it needs.
class Transfer {
 public:
  Transfer(Session& session, Communicator& world, const Held& held)
      : session_(session),
        world_(world),
        held_(held),
        pieces_(pieces_of(session.strategy().shards(), session.layout().size())) {}

  void run(const std::vector<Offer>& chosen) {
    for (const Offer& offer : chosen) {
      each_piece_of(offer.end - offer.begin, [&](std::size_t first, std::span<float> values) {
        move(static_cast<int>(offer.rank), offer.begin + first, values);
      });
    }
    session_.strategy().shards_changed();
    session_.strategy().settle();
  }

 private:
  void move(int root, std::uint64_t place, std::span<float> values) {
    if (root == world_.rank()) fill(place, values);
    world_.broadcast(values, root);
    for (const Piece& piece : pieces_) copy_common(session_.machine(), values, place, piece);
  }

  void fill(std::uint64_t place, std::span<float> values) const {
    for (const auto& [begin, own] : held_.parts) {
      if (place < begin || place + values.size() > begin + own.size()) continue;
      std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(place - begin), values.size(),
                  values.begin());
    }
  }

  Session& session_;
  Communicator& world_;
  const Held& held_;
  std::vector<Piece> pieces_;
};

/// Collective: the steps up to `last` by the lowest rank that has done them all.
std::vector<StepRecord> common_steps(Communicator& world, const Held& held, std::size_t last) {
  int giver = held.position.step >= last ? world.rank() : world.size();
  world.all_reduce(giver, ReduceOperator::min);
  std::vector<StepRecord> steps = held.steps;
  std::erase_if(steps, [&](const StepRecord& step) { return step.step > last; });
  broadcast_whole(world, steps, giver);
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
  for (const auto& [place, values] :
       pieces_of(session.strategy().shards_now(), session.layout().size())) {
    held.parts.push_back({place, std::vector<float>(values.size())});
    session.machine().read(values.data(), held.parts.back().values.data(), values.size_bytes());
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
  world.all_reduce(from, ReduceOperator::max);
  const auto offers = gather(world, offers_of(held, world.rank()));
  const std::size_t arrays = session.optimizer().states() + 1;
  const auto chosen = newest_whole(offers, arrays * session.layout().size());
  if (!chosen.empty()) {
    Transfer(session, world, held).run(chosen);
    std::vector<Position> position{held.position};
    broadcast_whole(world, position, static_cast<int>(chosen.front().rank));
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
