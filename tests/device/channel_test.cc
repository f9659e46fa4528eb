// What a channel must guarantee, one property in each test: credits, flags that repeat, waits that
// end.
#include <algorithm>
#include <random>
#include <vector>

#include "algorithms/table.h"
#include "kernels/device/interpret.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/device/host_group.h"
#include "tests/device/lowered.h"
#include "tests/device/placed.h"

namespace rondo::device::test {
namespace {

/// Rank 0 sends to rank 1; each side runs when the test says so, on the test's own thread.
class Pair {
 public:
  explicit Pair(const ArenaShape& shape) : group(shape) {
    for (int rank = 0; rank < 2; ++rank) group.control(rank).patience = 50;
  }

  /// False when the wait was ended.
  bool run(int rank, std::vector<std::uint8_t>& data, Protocol protocol) {
    const Prepared prepared = lowered_.prepare(rank, data.size(), DataType::uint8,
                                               ReduceOperator::sum, protocol, group.shape());
    RankContext context = group.context(rank);
    context.program = prepared.program.data();
    context.sizes = prepared.sizes;
    context.output = reinterpret_cast<std::byte*>(data.data());  // rank 0 has none
    context.input = context.output;                              // rank 1 has none
    HostTeamState state(1);
    HostTeam team(state, 0);
    return run_lane(team, context, 0);
  }
  bool send(std::vector<std::uint8_t> data, Protocol protocol) { return run(0, data, protocol); }

  HostGroup group;

 private:
  Lowered lowered_{*find_algorithm(Collective::send_recv, "linear"), 2, 0};
};

ArenaShape pair_shape() {
  return {.ranks = 2,
          .frame_bytes = 1024,
          .packets = 64,
          .mailbox = 1,
          .flag_period = 16,
          .wipe_interval = 4};
}

std::vector<std::uint8_t> numbered(std::size_t size, std::size_t salt) {
  std::vector<std::uint8_t> data(size);
  for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::uint8_t>(i * 7 + salt);
  return data;
}

constexpr Protocol protocols[] = {Protocol::low_latency, Protocol::bulk};

}  // namespace

TEST_CASE("a sender is at most `depth` messages ahead") {
  for (const Protocol protocol : protocols) {
    Pair pair(pair_shape());
    CHECK(pair.send(numbered(40, 1), protocol));
    CHECK(pair.send(numbered(40, 2), protocol));
    CHECK_FALSE(pair.send(numbered(40, 3), protocol));
    const Failure& failure = pair.group.control(0).failure;
    CHECK(failure.awaited == Awaited::credit);
    CHECK(failure.ending == Ending::out_of_patience);
    CHECK(failure.peer == 1);
    CHECK(failure.step == 2);
    std::vector<std::uint8_t> got(40);
    REQUIRE(pair.run(1, got, protocol));
    CHECK(got == numbered(40, 1));
    REQUIRE(pair.run(1, got, protocol));
    CHECK(got == numbered(40, 2));
  }
}

TEST_CASE("messages of changing length and protocol, through many periods of the flags") {
  Pair pair(pair_shape());
  std::mt19937 random(3);
  for (std::size_t call = 0; call < 400; ++call) {
    const std::size_t size = 1 + random() % 400;
    const Protocol protocol = protocols[random() % 2];
    REQUIRE(pair.send(numbered(size, call), protocol));
    std::vector<std::uint8_t> got(size);
    REQUIRE(pair.run(1, got, protocol));
    REQUIRE(got == numbered(size, call));
  }
}

TEST_CASE("a packet left over from the last period of the flags is no message") {
  // Sends a long message, then short ones until its flag comes again. Then it waits for a long one
  // of which only the first packet has come: what the first message left behind must be gone.
  for (const Protocol between : protocols) {
    Pair pair(pair_shape());
    const std::size_t period = pair.group.shape().flag_period;
    for (std::size_t step = 0; step < period + 3; ++step) {
      const std::size_t size = step == 3 ? 400 : 1;
      const Protocol protocol = step == 3 ? Protocol::low_latency : between;
      REQUIRE(pair.send(numbered(size, step), protocol));
      std::vector<std::uint8_t> got(size);
      REQUIRE(pair.run(1, got, protocol));
      REQUIRE(got == numbered(size, step));
    }
    REQUIRE(pair.send(numbered(1, 0), Protocol::low_latency));
    std::vector<std::uint8_t> got(400);
    CHECK_FALSE(pair.run(1, got, Protocol::low_latency));
    CHECK(pair.group.control(1).failure.awaited == Awaited::message);
    CHECK(pair.group.control(1).failure.step == period + 3);
    CHECK(got[392] == 0);
  }
}

TEST_CASE("counters beyond 32 bits go on as before") {
  for (const Protocol protocol : protocols) {
    Pair pair(pair_shape());
    const std::uint64_t before = (std::uint64_t{1} << 32) - 3;
    const ArenaPlaces places(pair.group.shape());
    const auto word = [&](int rank, std::size_t at) -> std::uint64_t& {
      return *reinterpret_cast<std::uint64_t*>(pair.group.arenas()[rank] + at);
    };
    word(0, places.counters(places.channel(1, 0))) = before;      // sent
    word(1, places.counters(places.channel(0, 0)) + 8) = before;  // received
    word(0, places.credit(places.channel(1, 0))) = before;
    word(1, places.head(places.channel(0, 0))) = before;
    for (std::size_t call = 0; call < 8; ++call) {
      REQUIRE(pair.send(numbered(100, call), protocol));
      std::vector<std::uint8_t> got(100);
      REQUIRE(pair.run(1, got, protocol));
      CHECK(got == numbered(100, call));
    }
  }
}

TEST_CASE("an abort ends every team of every rank, wherever it waits") {
  // Rank 3 never comes, so nobody can finish.
  const Algorithm& ring = *find_algorithm(Collective::all_reduce, "ring");
  const Lowered lowered(ring, 4, 0);
  for (const Protocol protocol : protocols) {
    HostGroup group({.ranks = 4,
                     .stripes = 2,
                     .packet_stripes = 2,
                     .frame_bytes = 1024,
                     .packets = 64,
                     .mailbox = 1});
    std::vector<Prepared> prepared;
    std::vector<std::vector<float>> values(3, std::vector<float>(40000));
    std::vector<RankContext> contexts;
    for (int rank = 0; rank < 3; ++rank) {
      prepared.push_back(lowered.prepare(rank, 40000, DataType::float32, ReduceOperator::sum,
                                         protocol, group.shape()));
      contexts.push_back(group.context(rank));
      contexts.back().program = prepared.back().program.data();
      contexts.back().sizes = prepared.back().sizes;
      auto* data = reinterpret_cast<std::byte*>(values[static_cast<std::size_t>(rank)].data());
      contexts.back().input = contexts.back().output = data;
    }
    std::vector<char> whole(6, 1);
    run_teams(
        6, 2,
        [&](HostTeam& team, std::uint32_t number) {
          const bool ended = run_lane(team, contexts[number / 2], number % 2);
          if (team.lane() == 0) whole[number] = ended;
        },
        [&] {
          for (int rank = 0; rank < 3; ++rank) store_relaxed(&group.control(rank).abort, 1);
        });
    CHECK(std::count(whole.begin(), whole.end(), 0) == 6);
    for (int rank = 0; rank < 3; ++rank) {
      CHECK(group.control(rank).failed == failure_written);
      CHECK(group.control(rank).failure.ending == Ending::aborted);
      CHECK(group.control(rank).failure.op <
            lowered.programs[static_cast<std::size_t>(rank)].ops.size());
    }
  }
}

TEST_CASE("a wait without an abort ends at its timeout, and ends the rank's other teams") {
  const Algorithm& tree = *find_algorithm(Collective::all_reduce, "double_tree");
  const Lowered lowered(tree, 3, 0);
  HostGroup group({.ranks = 3,
                   .stripes = 2,
                   .packet_stripes = 2,
                   .depth = static_cast<std::uint32_t>(lowered.traits.depth),
                   .frame_bytes = 1024,
                   .packets = 64,
                   .mailbox = 1});
  group.control(1).patience = 50;
  const Prepared prepared = lowered.prepare(1, 100, DataType::float32, ReduceOperator::sum,
                                            Protocol::bulk, group.shape());
  std::vector<float> values(100);
  std::vector<std::byte> scratch(prepared.scratch_bytes + 16);
  RankContext context = group.context(1);
  context.program = prepared.program.data();
  context.sizes = prepared.sizes;
  context.output = reinterpret_cast<std::byte*>(values.data());
  context.input = context.output;
  context.scratch = scratch.data();
  run_teams(2, 2, [&](HostTeam& team, std::uint32_t lane) {
    if (run_lane(team, context, lane)) FAIL("finished without its peers");
  });
  CHECK(group.control(1).abort == 1);
  CHECK(group.control(1).failed == failure_written);
}

TEST_CASE("what does not fit is refused before anything runs") {
  const Schedule schedule = find_algorithm(Collective::all_reduce, "ring")->build(4, 0);
  const ArenaShape right{.ranks = 4, .frame_bytes = 64, .packets = 8, .mailbox = 1};
  const auto encoded = [&](const ArenaShape& shape, int longest = 1) {
    return sizes_of({.schedule = schedule,
                     .traits = {.longest_message = longest, .depth = 2},
                     .count = 100,
                     .arena = shape});
  };
  CHECK_NOTHROW(encoded(right));
  ArenaShape wrong = right;
  wrong.ranks = 3;
  CHECK_THROWS_AS(encoded(wrong), Error);
  wrong = right;
  wrong.packet_stripes = 2;  // of one stripe
  CHECK_THROWS_AS(encoded(wrong), Error);
  wrong = right;
  wrong.depth = 1;
  CHECK_THROWS_AS(encoded(wrong), Error);
  wrong = right;
  wrong.flag_period = 48;
  CHECK_THROWS_AS(encoded(wrong), Error);
  wrong.flag_period = 16;  // wiped too seldom
  CHECK_THROWS_AS(encoded(wrong), Error);
  wrong = right;
  wrong.frame_bytes = 40;
  CHECK_THROWS_AS(encoded(wrong), Error);
  CHECK_THROWS_AS(encoded(right, 5), Error);
}

}  // namespace rondo::device::test
