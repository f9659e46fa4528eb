// The contest between the direct way and messages: fed with made-up times, and at work.
#include "core/execute/contest.h"

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tests/api/make_call.h"
#include "tests/api/threads.h"
#include "tests/catch.h"

namespace rondo::detail {
namespace {

using Way = Contest::Way;
constexpr Contest::Kind kind{Collective::broadcast, 100'000};
constexpr int period = Contest::period;

/// What a call takes, by way.
struct Times {
  std::uint32_t direct;
  std::uint32_t messages;
};

struct Tally {
  int direct = 0;
  int messages = 0;
};

/// One call that takes as long as `times` say, on all ranks alike.
Way call(Contest& contest, const Times& times, const Contest::Kind& of = kind) {
  const Contest::Turn turn = contest.next(of);
  if (turn.settles) contest.settle(of, contest.best(of));
  if (turn.timed)
    contest.add(of, turn.way, turn.way == Way::direct ? times.direct : times.messages);
  return turn.way;
}

Tally calls(Contest& contest, int count, const Times& times, const Contest::Kind& of = kind) {
  Tally tally;
  for (int i = 0; i < count; ++i)
    ++(call(contest, times, of) == Way::direct ? tally.direct : tally.messages);
  return tally;
}

/// Calls of a period that try both ways, the one that settles included.
int trial(const Contest::Kind& of) {
  return static_cast<int>(Contest::blocks * Contest::block(of.bytes)) + 1;
}

TEST_CASE("both ways are tried in turn, then the faster one is taken") {
  Contest contest;
  const Tally tried = calls(contest, trial(kind), {200, 100});
  CHECK(tried.direct == tried.messages + 1);
  CHECK(contest.faster(kind) == Way::messages);
  const Tally taken = calls(contest, period - trial(kind), {200, 100});
  CHECK(taken.messages > 9 * taken.direct);

  Contest second;
  calls(second, trial(kind), {100, 200});
  CHECK(contest.best(kind) == Contest::Times{200, 100});
  CHECK(calls(second, period - trial(kind), {100, 200}).messages == 0);
}

TEST_CASE("among messages a call goes direct now and then, to see windows") {
  Contest contest;
  calls(contest, period, {200, 100});
  REQUIRE(contest.faster(kind) == Way::messages);
  calls(contest, trial(kind), {200, 100});
  int between = 0;
  while (call(contest, {200, 100}) == Way::messages) ++between;
  CHECK(between < 16);
  contest.saw(kind, true);
  CHECK(calls(contest, 2 * period, {200, 100}).messages == 0);
  contest.saw(kind, false);
  CHECK(calls(contest, period, {200, 100}).messages > period / 2);
}

// Times so close that a block of both ways would decide otherwise.
TEST_CASE("a call in windows among those that are timed shifts no block") {
  for (int in_windows = 0; in_windows < trial(kind); ++in_windows) {
    Contest contest;
    for (int i = 0; i < in_windows; ++i) call(contest, {100, 80});
    if (contest.next(kind).way == Way::direct) {  // not timed: it sees windows
      contest.saw(kind, true);
      contest.next(kind);
      contest.saw(kind, false);
    } else {
      contest.add(kind, Way::messages, 80);
    }
    calls(contest, 2 * period, {100, 80});
    CHECK(contest.faster(kind) == Way::messages);
  }
}

TEST_CASE("what has changed is noticed within a period") {
  Contest contest;
  calls(contest, period, {100, 200});
  REQUIRE(contest.faster(kind) == Way::direct);
  calls(contest, period, {400, 200});
  REQUIRE(contest.faster(kind) == Way::messages);
  calls(contest, period, {100, 200});
  CHECK(contest.faster(kind) == Way::direct);
}

TEST_CASE("a rank that is held up once decides nothing") {
  for (int late = 0; late < trial(kind); ++late) {
    Contest contest;
    for (int i = 0; i < trial(kind); ++i) {
      const std::uint32_t delay = i == late ? 1'000'000 : 0;
      call(contest, {200 + delay, 100 + delay});
    }
    CHECK(contest.faster(kind) == Way::messages);
  }
}

TEST_CASE("the slowest rank's times count") {
  Contest contest;
  CHECK(contest.settle(kind, {300, 100}));
  CHECK(contest.faster(kind) == Way::messages);
  CHECK_FALSE(contest.settle(kind, {300, 100}));
  CHECK(contest.settle(kind, {300, 400}));
  CHECK(contest.faster(kind) == Way::direct);
}

TEST_CASE("ways that are about equal do not take turns for ever") {
  Contest contest;
  contest.settle(kind, {100, 95});
  CHECK(contest.faster(kind) == Way::direct);
  contest.settle(kind, {100, 80});
  REQUIRE(contest.faster(kind) == Way::messages);
  contest.settle(kind, {80, 85});
  CHECK(contest.faster(kind) == Way::messages);
}

TEST_CASE("collectives and sizes compete by themselves, large ones in shorter blocks") {
  Contest contest;
  calls(contest, period, {200, 100});
  const Contest::Kind large{kind.collective, std::size_t{64} << 20};
  const Contest::Kind gathered{Collective::all_gather, kind.bytes};
  CHECK(contest.faster({kind.collective, kind.bytes + 1}) == Way::messages);
  CHECK(contest.faster(large) == Way::direct);
  CHECK(contest.faster(gathered) == Way::direct);
  CHECK(trial(large) < trial(kind));
  calls(contest, trial(large), {200, 100}, large);
  CHECK(contest.faster(large) == Way::messages);
}

TEST_CASE("a new kind does as the next smaller one, for a few calls") {
  constexpr int inherited = Contest::inherited;
  Contest contest;
  calls(contest, period, {200, 100});
  const Contest::Kind twice{kind.collective, kind.bytes * 2};
  CHECK(contest.next(twice).looks);
  CHECK(calls(contest, inherited - 1, {100, 200}, twice).direct == 0);
  calls(contest, trial(twice), {100, 200}, twice);
  CHECK(contest.faster(twice) == Way::direct);
}

/// Floats of many magnitudes: the order of a sum shows in its bits.
std::vector<float> floats(std::size_t count, int rank) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::uniform_real_distribution<float> exponent(-8, 8);
  std::vector<float> values(count);
  for (float& value : values) value = std::exp2(exponent(random)) * (random() % 2 == 0 ? -1 : 1);
  return values;
}

/// Every result of equal calls that go turn about, on one rank.
std::vector<std::vector<float>> results(Communicator& comm, const Call& call) {
  const std::size_t whole = call.count * static_cast<std::size_t>(comm.size());
  const std::vector<float> input = floats(whole, comm.rank());
  std::vector<std::vector<float>> all;
  for (int turn = 0; turn < trial({call.collective, whole * sizeof(float)}); ++turn) {
    std::vector<float> output(whole);
    test::make_call(comm, call, input.data(), output.data());
    all.push_back(std::move(output));
  }
  return all;
}

TEST_CASE("measured calls give the same bits, whichever way they go") {
  constexpr std::array measured{Collective::all_reduce, Collective::reduce_scatter,
                                Collective::all_gather, Collective::broadcast,
                                Collective::all_to_all};
  for (const int ranks : {2, 3, 4}) {
    auto comms = Communicator::from_threads(ranks, {.transport = "shm"});
    for (const Collective collective : measured) {
      const Call call{.count = 400'003, .collective = collective, .type = DataType::float32};
      INFO(name(collective) << " ranks " << ranks);
      CHECK(comms[0].describe(collective, call.count, call.type).find("as measured") !=
            std::string::npos);
      std::vector<std::vector<std::vector<float>>> of_rank(static_cast<std::size_t>(ranks));
      test::on_all_ranks(ranks, [&](int rank) {
        const auto at = static_cast<std::size_t>(rank);
        of_rank[at] = results(comms[at], call);
      });
      for (const auto& all : of_rank) {
        for (const auto& one : all) CHECK(one == all.front());
      }
    }
  }
}

TEST_CASE("an average is never measured: the ways round it differently") {
  auto comms = Communicator::from_threads(2, {.transport = "shm"});
  const auto words = [&](ReduceOperator op) {
    return comms[0].describe(Collective::all_reduce, 400'003, DataType::float32, op);
  };
  CHECK(words(ReduceOperator::sum).find("as measured") != std::string::npos);
  CHECK(words(ReduceOperator::avg).find("as measured") == std::string::npos);
}

}  // namespace
}  // namespace rondo::detail
