// The autotuner between the direct path and messages: with made-up times, and at work.
#include "core/execute/contest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tests/api/make_call.h"
#include "tests/api/threads.h"
#include "tests/catch.h"
#include "tests/repeat.h"

namespace rondo::detail {
namespace {

using Way = Contest::Way;
constexpr Contest::Kind kind{Collective::broadcast, 100'000};
constexpr Contest::Kind watched{Collective::broadcast, Contest::watched_bytes};

/// How long a call takes, by path.
struct Times {
  std::uint32_t direct;
  std::uint32_t messages;
};

struct Tally {
  int direct = 0;
  int messages = 0;
};

/// One call that takes as long as `times` say, on all ranks alike, in ordinary memory.
Way call(Contest& contest, const Times& times, const Contest::Kind& of = kind) {
  const auto taken = [&](Way way) { return way == Way::direct ? times.direct : times.messages; };
  const Contest::Turn turn = contest.next(of);
  if (turn.hears) contest.hear(of, contest.recent(of));
  if (turn.watched) {
    contest.watch(of, taken(contest.faster(of)));
    return contest.faster(of);
  }
  if (turn.looks) return Way::messages;
  if (turn.settles) {
    contest.settle(of, contest.best(of));
    return contest.faster(of);
  }
  if (turn.timed) contest.add(of, turn.way, taken(turn.way));
  return turn.way;
}

Tally calls(Contest& contest, int count, const Times& times, const Contest::Kind& of = kind) {
  Tally tally;
  for (int i = 0; i < count; ++i)
    ++(call(contest, times, of) == Way::direct ? tally.direct : tally.messages);
  return tally;
}

/// Calls until a new kind has settled.
constexpr int first_trial = 4;
/// Calls within which a trial comes, however long nothing has changed.
constexpr int longest_rest = 400;

TEST_CASE("both paths are tried once, then the faster one is taken") {
  Contest contest;
  const Tally tried = calls(contest, first_trial, {200, 100});
  CHECK(tried.direct == 1);
  CHECK(contest.best(kind) == Contest::Times{200, 100});
  CHECK(contest.faster(kind) == Way::messages);
  CHECK(calls(contest, 16, {200, 100}).direct == 0);

  Contest second;
  CHECK(calls(second, first_trial, {100, 200}).direct == 2);
  CHECK(calls(second, 16, {100, 200}).messages == 0);
}

TEST_CASE("looks at the slower path cost little, and ever less") {
  for (const std::uint32_t slower : {115U, 150U, 200U, 400U}) {
    Contest contest;
    const Times times{slower, 100};
    calls(contest, first_trial, times);
    const int soon = calls(contest, 200, times).direct;
    calls(contest, 3 * longest_rest, times);
    const int later = calls(contest, 200, times).direct;
    INFO("the slower way takes " << slower << ", looks " << soon << ", " << later);
    CHECK(soon > 0);
    CHECK(soon * static_cast<int>(slower - 100) <= 200 * 100 / 16);
    CHECK(later < soon);
  }
}

TEST_CASE("where messages win, a call still goes direct now and then, to see windows") {
  Contest contest;
  CHECK(contest.next(kind).looks);
  calls(contest, first_trial - 1, {400, 100});
  REQUIRE(contest.faster(kind) == Way::messages);
  int between = 0;
  while (!contest.next(kind).looks) ++between;
  CHECK(between < 16);
  contest.saw(kind, true);
  CHECK(calls(contest, longest_rest, {400, 100}).messages == 0);
  contest.saw(kind, false);
  CHECK(calls(contest, longest_rest, {400, 100}).messages > longest_rest / 2);
}

TEST_CASE("where ranks outnumber cores, large calls try as seldom as small ones") {
  const Contest::Kind large{Collective::broadcast, std::size_t{64} << 20};
  Contest contest(false);
  calls(contest, longest_rest, {400, 100}, large);
  REQUIRE(contest.faster(large) == Way::messages);
  int looked = 0;
  for (int number = 0; number < longest_rest; ++number) {
    const Contest::Turn turn = contest.next(large);
    looked += turn.looks ? 1 : 0;
    if (turn.timed) contest.add(large, turn.way, turn.way == Way::direct ? 400 : 100);
    if (turn.settles) contest.settle(large, contest.best(large));
  }
  CHECK(looked > 0);
  CHECK(looked <= longest_rest / 16 + 1);
}

TEST_CASE("a trial that loses calls to windows comes again") {
  for (int in_windows = 0; in_windows < first_trial; ++in_windows) {
    Contest contest;
    calls(contest, in_windows, {100, 80});
    const Contest::Turn turn = contest.next(kind);
    if (turn.way == Way::direct) {  // not timed: it sees windows
      contest.saw(kind, true);
      contest.next(kind);
      contest.saw(kind, false);
    } else {
      contest.add(kind, Way::messages, 80);
    }
    calls(contest, 16, {100, 80});
    INFO("call " << in_windows);
    CHECK(contest.faster(kind) == Way::messages);
  }
}

TEST_CASE("what has changed is noticed, however long nothing changed") {
  Contest contest;
  calls(contest, 5 * longest_rest, {100, 400});
  REQUIRE(contest.faster(kind) == Way::direct);
  calls(contest, longest_rest, {400, 200});
  REQUIRE(contest.faster(kind) == Way::messages);
  calls(contest, longest_rest, {100, 200});
  CHECK(contest.faster(kind) == Way::direct);
}

TEST_CASE("large calls leave a path that slows down at the next meeting") {
  Contest contest;
  calls(contest, longest_rest, {160, 100}, watched);
  REQUIRE(contest.faster(watched) == Way::messages);
  const int meeting = static_cast<int>(Contest::look_every(Contest::oftener * watched.bytes));
  CHECK(calls(contest, 50, {160, 300}, watched).messages <= 2 + meeting + 2);  // last: a trial's
  CHECK(contest.heard(watched) == Contest::Times{160, 300});
  // It goes back as soon as a trial is paid for.
  CHECK(calls(contest, 100, {160, 100}, watched).direct < 40);
  CHECK(contest.faster(watched) == Way::messages);
  // Both paths are slower, so there is nothing to turn to.
  CHECK(calls(contest, 100, {320, 200}, watched).direct < 10);
}

TEST_CASE("longer calls of a large kind do not make a path look slower") {
  Contest contest;
  calls(contest, longest_rest, {160, 100}, watched);
  const Contest::Kind longer{watched.collective, 2 * watched.bytes - 4096};
  CHECK(calls(contest, 100, {400, 250}, longer).direct < 10);
  CHECK(contest.faster(watched) == Way::messages);
}

TEST_CASE("a rank that is held up once decides nothing that others have found before") {
  for (const Contest::Kind& of : {kind, watched}) {
    for (int late = 0; late < longest_rest; ++late) {
      Contest contest;
      calls(contest, first_trial, {120, 100}, of);
      for (int i = 0; i < longest_rest; ++i) {
        const std::uint32_t delay = i == late ? 1'000'000 : 0;
        call(contest, {120 + delay, 100 + delay}, of);
        if (contest.faster(of) != Way::messages) FAIL("call " << late << " was late, " << i);
      }
    }
  }
  SUCCEED("messages in every call");
}

TEST_CASE("a rank that is held up in the first trial of all is outvoted soon") {
  for (int late = 0; late < first_trial; ++late) {
    Contest contest;
    for (int i = 0; i < 64; ++i) {
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

TEST_CASE("ranks whose calls take different times decide alike") {
  std::mt19937 random(7);
  std::array<Contest, 3> ranks;
  const auto greatest = [&](auto times_of) {
    Contest::Times all{};
    for (const Contest& one : ranks) {
      const Contest::Times times = times_of(one);
      for (std::size_t way = 0; way < all.size(); ++way) all[way] = std::max(all[way], times[way]);
    }
    return all;
  };
  int turned = 0;
  for (int number = 0; number < 3000; ++number) {
    const Contest::Kind of = std::array{kind, watched}[random() % 2];
    std::array<Contest::Turn, 3> turns;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) turns[rank] = ranks[rank].next(of);
    const auto best = greatest([&](const Contest& one) { return one.best(of); });
    const auto recent = greatest([&](const Contest& one) { return one.recent(of); });
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const Contest::Turn& turn = turns[rank];
      const bool alike = turn.way == turns[0].way && turn.looks == turns[0].looks &&
                         turn.settles == turns[0].settles && turn.hears == turns[0].hears;
      if (!alike) FAIL("call " << number << " on rank " << rank);
      const std::uint64_t took = 100 + random() % 300;
      if (turn.settles) ranks[rank].settle(of, best);
      if (turn.hears && ranks[rank].hear(of, recent)) ++turned;
      if (turn.timed) ranks[rank].add(of, turn.way, took);
      if (turn.watched) ranks[rank].watch(of, took);
      if (ranks[rank].faster(of) != ranks[0].faster(of)) FAIL("after call " << number);
    }
  }
  CHECK(turned > 0);
  CHECK(turned % 3 == 0);
}

TEST_CASE("paths that are about equally fast do not take turns for ever") {
  Contest contest;
  contest.settle(kind, {100, 95});
  CHECK(contest.faster(kind) == Way::direct);
  contest.settle(kind, {100, 80});
  REQUIRE(contest.faster(kind) == Way::messages);
  contest.settle(kind, {80, 85});
  CHECK(contest.faster(kind) == Way::messages);
}

TEST_CASE("collectives and sizes compete by themselves") {
  Contest contest;
  calls(contest, first_trial, {200, 100});
  const Contest::Kind large{kind.collective, std::size_t{64} << 20};
  const Contest::Kind gathered{Collective::all_gather, kind.bytes};
  CHECK(contest.faster({kind.collective, kind.bytes + 1}) == Way::messages);
  CHECK(contest.faster(large) == Way::direct);
  CHECK(contest.faster(gathered) == Way::direct);
}

TEST_CASE("a new kind does as the next smaller one until it can pay for a trial of its own") {
  Contest contest;
  calls(contest, first_trial, {200, 100});
  const Contest::Kind twice{kind.collective, kind.bytes * 2};
  const Contest::Kind eightfold{kind.collective, kind.bytes * 8};
  CHECK(contest.next(twice).looks);
  CHECK(calls(contest, 15, {100, 200}, twice).direct == 0);
  CHECK(calls(contest, 8, {100, 200}, eightfold).direct == 0);
  calls(contest, first_trial, {100, 200}, twice);
  CHECK(contest.faster(twice) == Way::direct);
  CHECK(contest.faster(eightfold) == Way::messages);
  calls(contest, first_trial, {100, 200}, eightfold);
  CHECK(contest.faster(eightfold) == Way::direct);
}

/// Floats of many magnitudes: the order of a sum shows in its bits.
std::vector<float> floats(std::size_t count, int rank) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::uniform_real_distribution<float> exponent(-8, 8);
  std::vector<float> values(count);
  const std::size_t made = std::min<std::size_t>(count, 50'021);
  std::generate_n(values.begin(), made,
                  [&] { return std::exp2(exponent(random)) * (random() % 2 == 0 ? -1 : 1); });
  test::repeat<float>(values, made);
  return values;
}

/// Every result of equal calls that take either path, on one rank.
std::vector<std::vector<float>> results(Communicator& comm, const Call& call) {
  const std::size_t whole = call.count * static_cast<std::size_t>(comm.size());
  const std::vector<float> input = floats(whole, comm.rank());
  std::vector<std::vector<float>> all;
  for (int turn = 0; turn < 2 * first_trial; ++turn) {
    std::vector<float> output(whole);
    test::make_call(comm, call, input.data(), output.data());
    all.push_back(std::move(output));
  }
  return all;
}

TEST_CASE("measured calls give the same bits on either path") {
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

TEST_CASE("an average is never measured: the paths round it differently") {
  auto comms = Communicator::from_threads(2, {.transport = "shm"});
  const auto words = [&](ReduceOperator op) {
    return comms[0].describe(Collective::all_reduce, 400'003, DataType::float32, op);
  };
  CHECK(words(ReduceOperator::sum).find("as measured") != std::string::npos);
  CHECK(words(ReduceOperator::avg).find("as measured") == std::string::npos);
}

}  // namespace
}  // namespace rondo::detail
