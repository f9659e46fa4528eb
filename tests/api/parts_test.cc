// Parts of a communicator by themselves: numbers, operations, messages to itself, members.
#include <array>
#include <set>

#include "core/communicator/derivation.h"
#include "core/communicator/numbering.h"
#include "core/communicator/operation_pool.h"
#include "core/communicator/sends_to_self.h"
#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo::detail {
namespace {

Call sum_of(std::uint64_t count) {
  return {.count = count, .collective = Collective::all_reduce, .type = DataType::float32};
}

TEST_CASE("equal calls in the same order have equal numbers and fingerprints on every rank") {
  CallLog log_a;
  CallLog log_b;
  Numbering a(log_a, 3);
  Numbering b(log_b, 3);
  std::set<std::uint64_t> seen;
  for (std::uint64_t call = 1; call <= 4; ++call) {
    const auto number = a.number(sum_of(8), fingerprint_base(sum_of(8)));
    CHECK(number.sequence == call);
    CHECK(number.fingerprint == b.number(sum_of(8), fingerprint_base(sum_of(8))).fingerprint);
    CHECK(a.history() == b.history());
    CHECK(seen.insert(number.fingerprint).second);
    CHECK(log_a.begun() == call);
  }
  a.number(sum_of(8), fingerprint_base(sum_of(8)));
  b.number(sum_of(9), fingerprint_base(sum_of(9)));
  CHECK(a.history() != b.history());
}

TEST_CASE("messages are numbered by peer and direction, so that both sides count alike") {
  CallLog log;
  Numbering numbering(log, 3);
  const auto next = [&](int peer, bool sends) {
    return numbering.number(
        Message{{.count = 4, .collective = Collective::send_recv}, peer, sends});
  };
  const auto first = next(1, true);
  CHECK(first.sequence == 1);
  CHECK(next(1, true).sequence == 2);
  CHECK(next(2, true).sequence == 1);
  CHECK(next(1, false).fingerprint == first.fingerprint);
  CHECK(log.begun() == 0);  // no collective
}

TEST_CASE("an operation is used again once it is done and nobody holds it") {
  OperationPool pool;
  auto first = pool.take();
  const Operation* const place = first.get();
  CHECK(pool.take().get() != place);  // held
  first->reopen();
  first.reset();
  for (int other = 0; other < 4; ++other) CHECK(pool.take().get() != place);  // under way
  const_cast<Operation*>(place)->finish();
  bool again = false;
  for (int other = 0; other < 4; ++other) again = again || pool.take().get() == place;
  CHECK(again);
}

/// A send or receive of `count` floats between a rank and itself, begun.
std::shared_ptr<Operation> message(bool sends, float* buffer, std::uint64_t count) {
  const auto prepared = std::make_shared<PreparedCall>();
  prepared->call = {.count = count, .collective = Collective::send_recv};
  prepared->call.type = DataType::float32;
  auto operation = std::make_shared<Operation>();
  operation->start(prepared, sends ? buffer : nullptr, sends ? nullptr : buffer);
  operation->sends = sends;
  return operation;
}

TEST_CASE("a send to a rank itself meets the oldest receive, whichever comes first") {
  SendsToSelf to_self;
  std::array<float, 4> values{1, 2, 0, 0};
  const auto sent = message(true, &values[0], 1);
  const auto later = message(true, &values[1], 1);
  CHECK_FALSE(to_self.join(sent, 0));
  CHECK_FALSE(to_self.join(later, 0));
  CHECK(to_self.oldest() == sent.get());
  CHECK(to_self.join(message(false, &values[2], 1), 0));
  CHECK((sent->is_done() && !later->is_done()));
  CHECK_THROWS_AS(to_self.join(message(false, &values[3], 2), 0), Error);
  CHECK_FALSE(later->is_done());
  CHECK(to_self.join(message(false, &values[3], 1), 0));
  CHECK(to_self.empty());
  CHECK(values == std::array<float, 4>{1, 2, 1, 2});
}

TEST_CASE("messages to a rank itself that meet nothing can be taken back, or ended") {
  SendsToSelf to_self;
  float value = 0;
  const auto first = message(false, &value, 1);
  const auto second = message(false, &value, 1);
  to_self.join(first, 0);
  to_self.join(second, 0);
  to_self.withdraw();
  CHECK((second->is_done() && !second->error && !first->is_done()));
  to_self.end_all([](const Operation&) {
    return std::make_exception_ptr(Error(ErrorCode::aborted, "enough"));
  });
  CHECK((first->is_done() && first->error));
  CHECK(to_self.empty());
}

TEST_CASE("members and numbers of communicators made from one are the same on all their ranks") {
  constexpr int ranks = 5;
  const auto worlds = meet_threads(ranks, this_host(""));
  std::array<Membership, ranks> split;
  std::array<Membership, ranks> shrunk;
  test::on_all_ranks(ranks, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    Derivation derivation({.world = worlds[at], .members = {0, 1, 2, 3, 4}, .rank = rank});
    std::array<SplitWish, ranks> wishes;
    for (int each = 0; each < ranks; ++each)
      wishes[static_cast<std::size_t>(each)] = {each == 4 ? -1 : each % 2, -each};
    const auto half = derivation.split(wishes);
    test::expect_that(half.has_value() == (rank != 4), "a negative color makes none");
    if (half) split[at] = *half;
    if (rank != 2) shrunk[at] = derivation.shrink({2});
  });
  CHECK(split[0].members == std::vector<int>{2, 0});
  CHECK(split[1].members == std::vector<int>{3, 1});
  CHECK((split[0].rank == 1 && split[2].rank == 0 && split[3].rank == 0));
  CHECK((split[0].number == split[2].number && split[0].number != split[1].number));
  CHECK(shrunk[4].members == std::vector<int>{0, 1, 3, 4});
  CHECK((shrunk[4].rank == 3 && shrunk[0].number == shrunk[4].number));
  CHECK(shrunk[0].number != split[0].number);
}

}  // namespace
}  // namespace rondo::detail
