// The model of time: what it says of single accesses, of convoys, and of whole calls.
#include "algorithms/table.h"
#include "tests/catch.h"
#include "tests/device/timed_calls.h"

namespace rondo::device::test {
namespace {

constexpr std::uint32_t threads = 2;

/// GPUs with memory, whose blocks copy pieces of it to each other.
class Copies {
 public:
  Copies(std::uint32_t ranks, std::uint32_t blocks, std::size_t bytes)
      : ranks_(ranks), blocks_(blocks), bytes_(bytes) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      from_.emplace_back(blocks * bytes / sizeof(Line));
      to_.emplace_back(ranks * blocks * bytes / sizeof(Line));
    }
  }

  /// The seconds in which every block sends its piece to targets(rank), one after the other.
  double seconds(const std::function<std::vector<std::uint32_t>(std::uint32_t rank)>& targets) {
    std::vector<OwnedBytes> owned;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      owned.push_back({data(from_[rank]), from_[rank].size() * sizeof(Line), rank});
      owned.push_back({data(to_[rank]), to_[rank].size() * sizeof(Line), rank});
    }
    const auto work = [&](HostTeam& team, std::uint32_t number) {
      const std::uint32_t rank = number / blocks_;
      const Source source{data(from_[rank]) + number % blocks_ * bytes_, false};
      for (const std::uint32_t target : targets(rank)) {
        std::byte* const place = data(to_[target]) + number * bytes_;
        combine_any({.type = DataType::uint32}, {&source, 1}, {&place, 1}, bytes_ / 4,
                    {team.lane(), team.lanes()});
        team.synchronize();
      }
    };
    return run_timed(machine_, owned, ranks_, blocks_, threads, work);
  }
  /// That the links need for `copies` of a rank.
  double least(std::size_t copies) const {
    return static_cast<double>(copies * blocks_ * bytes_) / machine_.link_bandwidth;
  }

 private:
  static std::byte* data(std::vector<Line>& lines) { return lines.front().bytes.data(); }

  Machine machine_{};
  std::uint32_t ranks_;
  std::uint32_t blocks_;
  std::size_t bytes_;
  std::vector<std::vector<Line>> from_{}, to_{};
};

TEST_CASE("many blocks reach a link's bandwidth, and one does not") {
  Copies many(2, 32, 64 << 10);
  const auto other = [](std::uint32_t rank) { return std::vector<std::uint32_t>(8, 1 - rank); };
  CHECK(many.seconds(other) == Approx(many.least(8)).epsilon(0.05));
  Copies one(2, 1, 64 << 10);
  CHECK(one.seconds(other) > 10 * one.least(8));
}

TEST_CASE("ranks that all send to one after the other make a convoy") {
  constexpr std::uint32_t ranks = 8;
  Copies copies(ranks, 16, 64 << 10);
  const auto in_turn = [](std::uint32_t rank, std::uint32_t first) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t hop = 0; hop < ranks; ++hop) {
      if ((first + hop) % ranks != rank) all.push_back((first + hop) % ranks);
    }
    return all;
  };
  const double turned = copies.seconds([&](std::uint32_t rank) { return in_turn(rank, rank + 1); });
  const double convoy = copies.seconds([&](std::uint32_t rank) { return in_turn(rank, 0); });
  CHECK(turned < 1.5 * copies.least(ranks - 1));
  CHECK(convoy > 2 * turned);
}

TEST_CASE("a flag over a link is seen a trip after the data, which the release waits for") {
  const Machine machine;
  std::vector<std::uint64_t> words(2);
  const OwnedBytes owned{reinterpret_cast<const std::byte*>(words.data()),
                         words.size() * sizeof(words[0]), 1};
  double seen = 0;
  const double all = run_timed(machine, {&owned, 1}, 2, 1, 1, [&](HostTeam&, std::uint32_t rank) {
    if (rank == 0) {
      store_plain(&words[0], std::uint64_t{7});
      store_release(&words[1], 1);
      return;
    }
    while (load_acquire(&words[1]) == 0) pause();
    seen = static_cast<double>(load_plain(&words[0]));
  });
  CHECK(seen == 7);
  CHECK(all > 3 * machine.link_latency);  // there and back, and the flag's way
  CHECK(all < 4 * machine.link_latency + 2 * machine.memory_latency);
}

TEST_CASE("calls are right, no faster than their links, and not much slower") {
  constexpr std::size_t bytes = 4 << 20;
  struct Row {
    const char* name;
    double most;  ///< times what the links need: 14 messages in turn for the ring
  };
  for (const auto& [name, most] : {Row{"two_shot", 2.0}, Row{"ring", 3.5}}) {
    const TimedCall call{.row = find_algorithm(Collective::all_reduce, name), .bytes = bytes};
    const Machine machine;
    const double sent = 2.0 * (call.ranks - 1) / call.ranks * static_cast<double>(bytes);
    const double least = sent / machine.link_bandwidth;
    const double seconds = seconds_of(call, machine);
    CAPTURE(name, seconds * 1e6);
    CHECK(seconds > least);
    CHECK(seconds < most * least);
  }
}

TEST_CASE("blocks that are stored to windows need little more than their links") {
  const TimedCall call{.row = find_algorithm(Collective::all_gather, "one_shot"),
                       .bytes = 512 << 10,
                       .windows = &Lowered::sharings[2]};
  const Machine machine;
  const double least = 7.0 * static_cast<double>(call.bytes) / machine.link_bandwidth;
  const double seconds = seconds_of(call, machine);
  CAPTURE(seconds * 1e6, least * 1e6);
  CHECK(seconds > least);
  CHECK(seconds < least + 6e-6);  // two meetings, and the first load
}

resident::Choice choice_by_hand(std::size_t bytes) {
  const resident::Choice choice = resident::choose(
      {.count = bytes / sizeof(float),
       .collective = Collective::all_reduce,
       .type = DataType::float32},
      {.ranks = 8, .one_machine = true, .direct = true}, AlgorithmSelection({}, "this test"));
  REQUIRE(choice.form == resident::Form::small);
  return choice;
}

TEST_CASE("an all-reduce of 8 B by hand takes a trip over a link, and a few to memory") {
  const Machine machine;
  const double seconds = seconds_of(choice_by_hand(8), 8, 8, machine);
  CAPTURE(seconds * 1e6);
  CHECK(seconds > machine.link_latency);
  CHECK(seconds < 4e-6);
}

/// Prints a table, where it is asked for: device_timed_test [.small]
TEST_CASE("times of all-reduces by hand between 8 GPUs", "[.small]") {
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{1} << 10, std::size_t{24} << 10, std::size_t{32} << 10}) {
    const resident::Choice choice = choice_by_hand(bytes);
    std::printf("%s %6zu B  %5.1f us\n",
                choice.small == SmallAlgorithm::one_shot ? "one_shot" : "two_shot", bytes,
                seconds_of(choice, 8, bytes, Machine()) * 1e6);
  }
}

struct TimedRow {
  const char* what;
  Collective collective;
  const char* algorithm;
  const Sharing* windows = nullptr;
  double sent;  ///< of a block, by each of 8 ranks
};
constexpr double of_all_reduce = 2.0 * 7 / 8;
constexpr TimedRow timed_rows[] = {
    {"two_shot", Collective::all_reduce, "two_shot", nullptr, of_all_reduce},
    {"ring", Collective::all_reduce, "ring", nullptr, of_all_reduce},
    {"windows", Collective::all_reduce, "two_shot", &Lowered::sharings[1], of_all_reduce},
    {"gather", Collective::all_gather, "one_shot", nullptr, 7},
    {"windows", Collective::all_gather, "one_shot", &Lowered::sharings[2], 7},
    {"scatter", Collective::reduce_scatter, "one_shot", nullptr, 7},
    {"windows", Collective::reduce_scatter, "one_shot", &Lowered::sharings[1], 7},
};

/// Prints a table, where it is asked for: device_timed_test [.table]
TEST_CASE("times of calls between 8 GPUs", "[.table]") {
  const Machine machine;
  for (const TimedRow& row : timed_rows) {
    for (const std::size_t megabytes : {1, 4, 16, 32, 64}) {
      const bool is_whole = row.collective == Collective::all_reduce;
      const TimedCall call{.row = find_algorithm(row.collective, row.algorithm),
                           .bytes = (megabytes << 20) / (is_whole ? 1 : 8),
                           .windows = row.windows};
      const double seconds = seconds_of(call, machine);
      const double sent = row.sent * static_cast<double>(call.bytes);
      std::printf("%-9s %3zu MB  %7.1f us  busbw %4.0f GB/s  links need %6.1f us\n", row.what,
                  megabytes, seconds * 1e6, sent / seconds * 1e-9,
                  sent / machine.link_bandwidth * 1e6);
    }
  }
}

}  // namespace
}  // namespace rondo::device::test
