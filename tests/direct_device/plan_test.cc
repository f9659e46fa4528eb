// Plans between devices, carried out by hand on host memory: every collective must come out right,
// in place too, whatever its size is beside a half's, and nobody may read what nobody has shown.
#include "core/direct_device/plan.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/schedule/layout.h"
#include "tests/catch.h"

namespace rondo::direct_device {
namespace {

using Values = std::vector<int>;

constexpr std::size_t half_elements = 32 << 10;  ///< twice what an all-reduce in one shot takes
constexpr std::size_t half_bytes = half_elements * sizeof(int);

int value(int rank, std::size_t place) { return rank * 1'000'000 + static_cast<int>(place); }

struct Case {
  Call call{};
  int ranks = 2;
  bool in_place = false;
};

ChunkSpan blocks(const Case& test, Buffer buffer, int rank) {
  return held(test.call.collective, buffer, make_layout(test.call.collective, test.ranks, 1), rank,
              test.call.root);
}

std::size_t elements(const Case& test, Buffer buffer, int rank) {
  return static_cast<std::size_t>(blocks(test, buffer, rank).count) * test.call.count;
}

/// A rank's buffers and half. In place both buffers are one, and the smaller lies in the larger.
class Rank {
 public:
  Rank(const Case& test, int rank)
      : plan_(test.call, rank, test.ranks, half_bytes), half_(half_elements, -7) {
    const ChunkSpan in = blocks(test, Buffer::input, rank);
    const ChunkSpan out = blocks(test, Buffer::output, rank);
    const std::size_t ins = elements(test, Buffer::input, rank);
    const std::size_t outs = elements(test, Buffer::output, rank);
    apart_ = !test.in_place;
    memory_.assign(apart_ ? ins + outs : std::max(ins, outs), -1);
    if (apart_) {
      output_ = ins;
    } else if (ins < outs) {
      input_ = static_cast<std::size_t>(in.first - out.first) * test.call.count;
    } else if (outs > 0) {
      output_ = static_cast<std::size_t>(out.first - in.first) * test.call.count;
    }
    for (std::size_t i = 0; i < ins; ++i) memory_[input_ + i] = value(rank, i);
  }

  std::size_t slices() const { return plan_.slices(); }
  Slice slice(std::size_t index) const { return plan_.slice(index); }
  std::byte* input() { return bytes(memory_, input_); }
  std::byte* output() { return bytes(memory_, output_); }
  std::byte* half() { return bytes(half_, 0); }
  int output_at(std::size_t i) const { return memory_[output_ + i]; }

 private:
  static std::byte* bytes(Values& values, std::size_t at) {
    return reinterpret_cast<std::byte*>(values.data() + at);
  }

  Plan plan_;
  bool apart_ = true;
  Values memory_{};
  Values half_;
  std::size_t input_ = 0;
  std::size_t output_ = 0;
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

void reduce(std::vector<Rank>& ranks, std::size_t self, const Reducing& reducing) {
  std::byte* const to = reducing.output ? ranks[self].output() + *reducing.output
                                        : ranks[self].half() + reducing.place;
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

/// All ranks, phase by phase.
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
      if (slices[self].reducing) reduce(ranks, self, *slices[self].reducing);
    }
    for (std::size_t self = 0; self < ranks.size(); ++self) pull(ranks, self, slices[self].gathers);
  }
}

/// What must be at `i` of a rank's output.
int wanted(const Case& test, int rank, std::size_t i) {
  const std::size_t count = test.call.count;
  const auto own = static_cast<std::size_t>(rank);
  const auto block = static_cast<int>(i / count);
  int sum = 0;
  switch (test.call.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      for (int peer = 0; peer < test.ranks; ++peer) sum += value(peer, i);
      return sum;
    case Collective::reduce_scatter:
      for (int peer = 0; peer < test.ranks; ++peer) sum += value(peer, own * count + i);
      return sum;
    case Collective::all_gather:
    case Collective::gather:
      return value(block, i % count);
    case Collective::broadcast:
      return value(test.call.root, i);
    case Collective::scatter:
      return value(test.call.root, own * count + i);
    default:
      return value(block, own * count + i % count);  // all_to_all
  }
}

/// Whoever reads is read, so every signal has its other side.
void check_signals(const std::vector<Rank>& ranks) {
  for (std::size_t index = 0; index < ranks.front().slices(); ++index) {
    for (std::size_t a = 0; a < ranks.size(); ++a) {
      const Slice reading = ranks[a].slice(index);
      for (std::size_t b = 0; b < ranks.size(); ++b) {
        const Slice read = ranks[b].slice(index);
        const bool reads = std::ranges::count(reading.sources, static_cast<int>(b)) > 0;
        const bool shows = std::ranges::count(read.readers, static_cast<int>(a)) > 0;
        REQUIRE(reads == shows);
        REQUIRE((!shows || !read.fill.empty()));
        REQUIRE(reading.gathers.empty() == read.gathers.empty());
      }
    }
  }
}

TEST_CASE("plans between devices bring every collective about") {
  const auto collective =
      GENERATE(Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
               Collective::broadcast, Collective::reduce, Collective::all_to_all,
               Collective::scatter, Collective::gather);
  const int ranks = GENERATE(2, 3, 5);
  const std::size_t half = half_elements / static_cast<std::size_t>(ranks);
  const std::size_t count =
      GENERATE_COPY(std::size_t{1}, std::size_t{77}, half - 1, half + 1, half_elements - 1,
                    half_elements, half_elements + 1, 2 * half_elements + 4711);
  const bool in_place = GENERATE(false, true);
  const Case test{{.count = count, .collective = collective, .type = DataType::int32, .root = 1},
                  ranks,
                  in_place};
  std::vector<Rank> all;
  for (int rank = 0; rank < ranks; ++rank) all.emplace_back(test, rank);
  check_signals(all);
  run(all);
  for (int rank = 0; rank < ranks; ++rank) {
    const Rank& self = all[static_cast<std::size_t>(rank)];
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < elements(test, Buffer::output, rank); ++i)
      wrong += self.output_at(i) == wanted(test, rank, i) ? 0 : 1;
    INFO(to_string(test.call) << " of " << ranks << " ranks, rank " << rank);
    CHECK(wrong == 0);
  }
}

TEST_CASE(
    "an all-reduce is one shot when it is small, and each rank reduces a part when it is not") {
  const auto slice_of = [](std::size_t count, int rank) {
    const Call call{.count = count, .collective = Collective::all_reduce, .type = DataType::uint8};
    return Plan(call, rank, 4, half_bytes).slice(0);
  };
  CHECK(slice_of(Plan::most_one_shot_bytes, 1).gathers.empty());
  const Slice large = slice_of(Plan::most_one_shot_bytes + 1, 1);
  REQUIRE(large.gathers.size() == 4);
  REQUIRE(large.reducing);
  CHECK_FALSE(large.reducing->output);
  CHECK(large.reducing->place == large.gathers[1].run.from);
  std::size_t all = 0;
  for (const Pull& part : large.gathers) all += part.run.bytes;
  CHECK(all == Plan::most_one_shot_bytes + 1);
}

}  // namespace
}  // namespace rondo::direct_device
