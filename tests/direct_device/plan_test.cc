// Plans between devices, carried out by hand on host memory. Every collective must come out right,
// also in place, whatever its size compared to half a staging heap. No rank may read what was not
// shown.
#include "core/direct_device/plan.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/support/oracle.h"

namespace rondo::direct_device {
namespace {

using test::Trial;

constexpr std::size_t half_elements = 32 << 10;  ///< twice what an all-reduce in one shot takes
constexpr std::size_t half_bytes = half_elements * sizeof(int);

/// A rank's buffers and half.
class Rank {
 public:
  Rank(const Trial& trial, int rank)
      : plan_(Planner(rank, trial.ranks(), half_bytes)
                  .plan(trial.given().call, trial.given().counts)),
        memory_(trial.before(rank)),
        half_(half_bytes, std::byte{0xf9}),
        input_(trial.input(rank)),
        output_(trial.output(rank)) {}

  std::size_t slices() const { return plan_.slices(); }
  Slice slice(std::size_t index) const { return plan_.slice(index); }
  std::byte* input() { return memory_.data() + input_; }
  std::byte* output() { return memory_.data() + output_; }
  std::byte* half() { return half_.data(); }
  const Bytes& memory() const { return memory_; }

 private:
  Plan plan_;
  Bytes memory_;
  Bytes half_;
  std::size_t input_;
  std::size_t output_;
};

void place(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (to != from) std::memcpy(to, from, bytes);
}

void pull(std::vector<Rank>& ranks, std::size_t self, const std::vector<Pull>& pulls) {
  for (const Pull& each : pulls) {
    Rank& source = ranks[static_cast<std::size_t>(each.rank)];
    place(ranks[self].output() + each.run.to, source.half() + each.run.from, each.run.bytes);
  }
}

void reduce(std::vector<Rank>& ranks, std::size_t self, const Slice& slice) {
  const Reducing& reducing = *slice.reducing;
  std::byte* const to =
      reducing.to ? ranks[self].output() + *reducing.to : ranks[self].half() + reducing.place;
  REQUIRE(reducing.place + reducing.count * sizeof(int) <= half_bytes);
  for (std::size_t i = 0; i < reducing.count; ++i) {
    int sum = 0;
    for (Rank& rank : ranks) {
      int operand = 0;
      std::memcpy(&operand, rank.half() + reducing.place + i * sizeof(int), sizeof operand);
      sum += operand;
    }
    std::memcpy(to + i * sizeof(int), &sum, sizeof sum);
  }
}

/// Runs all ranks' plans, phase by phase.
void run(std::vector<Rank>& ranks) {
  for (std::size_t index = 0; index < ranks.front().slices(); ++index) {
    std::vector<Slice> slices;
    for (Rank& rank : ranks) {
      REQUIRE(rank.slices() == ranks.front().slices());
      slices.push_back(rank.slice(index));
      for (const Run& run : slices.back().fill) {
        REQUIRE(run.to + run.bytes <= half_bytes);
        place(rank.half() + run.to, rank.input() + run.from, run.bytes);
      }
    }
    for (std::size_t self = 0; self < ranks.size(); ++self) {
      for (const Run& run : slices[self].own)
        place(ranks[self].output() + run.to, ranks[self].input() + run.from, run.bytes);
      pull(ranks, self, slices[self].pulls);
      if (slices[self].reducing) reduce(ranks, self, slices[self]);
    }
    for (std::size_t self = 0; self < ranks.size(); ++self) pull(ranks, self, slices[self].gathers);
  }
}

/// A rank that reads another is one of its readers, so every signal has its other side.
void check_signals(const std::vector<Rank>& ranks, bool ragged) {
  for (std::size_t index = 0; index < ranks.front().slices(); ++index) {
    for (std::size_t a = 0; a < ranks.size(); ++a) {
      const Slice reading = ranks[a].slice(index);
      for (std::size_t b = 0; b < ranks.size(); ++b) {
        const Slice read = ranks[b].slice(index);
        const bool reads = std::ranges::count(reading.sources, static_cast<int>(b)) > 0;
        const bool shows = std::ranges::count(read.readers, static_cast<int>(a)) > 0;
        REQUIRE(reads == shows);
        const bool has_nothing = ragged && read.fill.empty();
        REQUIRE((!shows || !read.fill.empty() || has_nothing));
        REQUIRE(reading.gathers.empty() == read.gathers.empty());
      }
    }
  }
}

void check(const test::Case& given, int ranks) {
  const Trial trial(given, ranks);
  std::vector<Rank> all;
  for (int rank = 0; rank < ranks; ++rank) all.emplace_back(trial, rank);
  check_signals(all, !given.counts.empty());
  run(all);
  for (int rank = 0; rank < ranks; ++rank)
    trial.check(rank, all[static_cast<std::size_t>(rank)].memory().data());
}

TEST_CASE("plans between devices carry out every collective") {
  const auto collective =
      GENERATE(Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
               Collective::broadcast, Collective::reduce, Collective::all_to_all,
               Collective::scatter, Collective::gather);
  const int ranks = GENERATE(from_range(test::cells<int>({2, 3, 5}, {3})));
  const std::size_t half = half_elements / static_cast<std::size_t>(ranks);
  const std::size_t count =
      GENERATE_COPY(std::size_t{1}, std::size_t{77}, half - 1, half + 1, half_elements - 1,
                    half_elements, half_elements + 1, 2 * half_elements + 4711);
  const bool in_place = GENERATE(false, true);
  if (in_place && collective == Collective::all_to_all) return;
  const int root = info(collective).has_root ? 1 : 0;
  check({.call = {.count = count, .collective = collective, .type = DataType::int32, .root = root},
         .in_place = in_place},
        ranks);
}

std::vector<std::size_t> ragged_counts(int ranks, int pattern) {
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> counts(size, 0);
  switch (pattern) {
    case 0:  // one has all
      counts[size / 2] = 3 * half_elements + 5;
      return counts;
    case 1:  // one has next to nothing
      counts.assign(size, half_elements / 2 + 3);
      counts[0] = 1;
      return counts;
    case 2:  // one has far more than the others
      counts.assign(size, 100);
      counts[size - 1] = half_elements;
      return counts;
    default:
      std::iota(counts.begin(), counts.end(), 0);
      return counts;
  }
}

TEST_CASE("plans between devices carry out ragged collectives") {
  const auto collective = GENERATE(Collective::reduce_scatter, Collective::all_gather,
                                   Collective::scatter, Collective::gather);
  const int ranks = GENERATE(from_range(test::cells<int>({2, 3, 5}, {3})));
  const std::vector<std::size_t> counts = ragged_counts(ranks, GENERATE(0, 1, 2, 3));
  const bool in_place = GENERATE(false, true);
  const int root = info(collective).has_root ? 1 : 0;
  const Call call{.collective = collective, .type = DataType::int32, .root = root};
  check({.call = shape(call, counts).call, .counts = counts, .in_place = in_place}, ranks);
}

TEST_CASE("no two ranks read from the same rank at a time") {
  const auto collective = GENERATE(Collective::all_reduce, Collective::reduce_scatter,
                                   Collective::all_gather, Collective::all_to_all);
  const int ranks = GENERATE(range(2, 9));
  const bool moves = collective == Collective::all_gather || collective == Collective::all_to_all;
  const Call call{.count = half_elements, .collective = collective, .type = DataType::int32};
  std::vector<Slice> slices;
  for (int rank = 0; rank < ranks; ++rank)
    slices.push_back(Planner(rank, ranks, half_bytes).plan(call).slice(0));
  const auto reads_at = [&](std::size_t place) {
    std::set<int> sources;
    for (const Slice& slice : slices) {
      const std::vector<Pull>& pulls = moves ? slice.pulls : slice.gathers;
      if (place < pulls.size()) sources.insert(pulls[place].rank);
    }
    return sources.size();
  };
  const std::size_t reads = moves ? slices[0].pulls.size() : slices[0].gathers.size();
  CHECK((reads > 0) == (collective != Collective::reduce_scatter));
  for (std::size_t place = 0; place < reads; ++place)
    CHECK(reads_at(place) == static_cast<std::size_t>(ranks));
}

TEST_CASE(
    "an all-reduce is one shot when it is small, and each rank reduces a part when it is not") {
  const auto slice_of = [](std::size_t count, int rank) {
    const Call call{.count = count, .collective = Collective::all_reduce, .type = DataType::uint8};
    return Planner(rank, 4, half_bytes).plan(call).slice(0);
  };
  CHECK(slice_of(Planner::most_one_shot_bytes, 1).gathers.empty());
  const Slice large = slice_of(Planner::most_one_shot_bytes + 1, 1);
  REQUIRE(large.gathers.size() == 4);
  REQUIRE(large.reducing);
  CHECK_FALSE(large.reducing->to);
  CHECK(large.reducing->place == large.gathers.front().run.from);  // the own part
  std::size_t all = 0;
  for (const Pull& part : large.gathers) all += part.run.bytes;
  CHECK(all == Planner::most_one_shot_bytes + 1);
}

TEST_CASE("a rank copies to its half only what is read there, in one run where it lies together") {
  const auto runs = [](Collective collective, int rank, std::size_t count) {
    const Call call{.count = count, .collective = collective, .type = DataType::int32};
    return Planner(rank, 4, half_bytes).plan(call).slice(0).fill.size();
  };
  CHECK(runs(Collective::all_reduce, 1, 9 * half_elements) == 1);  // its parts are side by side
  CHECK(runs(Collective::reduce_scatter, 1, half_elements) == 4);
  CHECK(runs(Collective::all_to_all, 1, half_elements) == 3);  // but for the own block
  CHECK(runs(Collective::all_to_all, 1, 100) == 1);            // whole blocks
  CHECK(runs(Collective::reduce, 0, 100) == 1);                // the root's own operand
  CHECK(runs(Collective::gather, 0, 100) == 0);
  CHECK(runs(Collective::broadcast, 1, 100) == 0);
}

}  // namespace
}  // namespace rondo::direct_device
