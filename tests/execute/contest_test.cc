// The contest between messages and the kernel's copies: fed with made-up times, and at work.
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

/// Makes `calls` calls that take as long as `times` say; how many went by copies.
struct Times {
  std::uint32_t messages;
  std::uint32_t copies;
};
int copied(Contest& contest, int calls, const Times& times, const Contest::Kind& of = kind) {
  int by_copies = 0;
  for (int call = 0; call < calls; ++call) {
    const Way way = contest.next(of);
    by_copies += way == Way::copies ? 1 : 0;
    contest.record(of, way, way == Way::copies ? times.copies : times.messages);
  }
  return by_copies;
}

constexpr int turns = Contest::turns;
constexpr int period = Contest::period;

TEST_CASE("both ways are tried in turn, then the faster one is taken") {
  Contest contest;
  CHECK(copied(contest, turns, {200, 100}) == turns / 2);
  CHECK(contest.faster(kind) == Way::copies);
  CHECK(copied(contest, period - turns, {200, 100}) == period - turns);
  CHECK(contest.nanoseconds(kind, Way::messages) == 200);
  CHECK(contest.nanoseconds(kind, Way::copies) == 100);

  Contest second;
  CHECK(copied(second, period, {100, 200}) == turns / 2);
}

TEST_CASE("what has changed is noticed within a period") {
  Contest contest;
  copied(contest, period, {100, 200});
  REQUIRE(contest.faster(kind) == Way::messages);
  CHECK(copied(contest, period, {400, 200}) == turns / 2 + period - turns);
  CHECK(copied(contest, period, {100, 200}) == turns / 2);
}

TEST_CASE("a rank that is held up decides nothing") {
  Contest contest;
  for (int call = 0; call < turns; ++call) {
    const Way way = contest.next(kind);
    const std::uint32_t delay = call < turns - 2 ? 1'000'000 : 0;
    const std::uint32_t usual = way == Way::copies ? 100 : 200;
    CHECK(contest.record(kind, way, usual + delay) == (call + 1 == turns));
  }
  CHECK(contest.faster(kind) == Way::copies);
}

TEST_CASE("ways that are about equal do not take turns for ever") {
  Contest contest;
  copied(contest, period, {100, 95});
  CHECK(contest.faster(kind) == Way::messages);
  copied(contest, period, {100, 80});
  REQUIRE(contest.faster(kind) == Way::copies);
  copied(contest, period, {80, 85});
  CHECK(contest.faster(kind) == Way::copies);
}

TEST_CASE("collectives and sizes compete by themselves") {
  Contest contest;
  copied(contest, period, {200, 100});
  const Contest::Kind larger{kind.collective, kind.bytes * 2};
  const Contest::Kind gathered{Collective::all_gather, kind.bytes};
  CHECK(copied(contest, period, {100, 200}, larger) == turns / 2);
  CHECK(copied(contest, period, {100, 200}, gathered) == turns / 2);
  CHECK(contest.faster({kind.collective, kind.bytes + 1}) == Way::copies);
}

/// Floats of many magnitudes: the order of a sum shows in its bits.
std::vector<float> floats(std::size_t count, int rank) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::uniform_real_distribution<float> exponent(-8, 8);
  std::vector<float> values(count);
  for (float& value : values) value = std::exp2(exponent(random)) * (random() % 2 == 0 ? -1 : 1);
  return values;
}

/// Every result of `turns` equal calls, which go turn about, on one rank.
std::vector<std::vector<float>> results(Communicator& comm, const Call& call) {
  const std::size_t whole = call.count * static_cast<std::size_t>(comm.size());
  const std::vector<float> input = floats(whole, comm.rank());
  std::vector<std::vector<float>> all;
  for (int turn = 0; turn < turns; ++turn) {
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
