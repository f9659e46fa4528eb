// The oracle: it accepts what the reference gives, and notices a wrong byte wherever it is.
#include "tests/support/oracle.h"

#include "tests/catch.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"

namespace rondo::test {
namespace {

/// The memory of both ranks after the calls.
std::vector<Bytes> called(const Trial& trial) {
  std::vector<Bytes> memories(2);
  with_world(2, {}, [&](Communicator& comm) {
    trial.run(comm.rank(), [&](const std::byte* in, std::byte* out) {
      make_call(comm, trial.given(), in, out);
      const std::byte* const begin = in - trial.input(comm.rank());
      const std::size_t bytes = trial.before(comm.rank()).size();
      memories[static_cast<std::size_t>(comm.rank())].assign(begin, begin + bytes);
    });
  });
  return memories;
}

TEST_CASE("the oracle notices a wrong byte in the output, behind it, between and in the input") {
  const Case given = GENERATE(
      Case{.call = {.count = 5, .collective = Collective::all_reduce, .type = DataType::float32}},
      Case{.call = {.collective = Collective::all_gather}, .counts = {3, 9}, .offset = 1},
      Case{.between = [](int from, int to) { return std::size_t(from + 2 * to); },
           .displaced = true});
  const Trial trial(given, 2);
  const std::vector<Bytes> right = called(trial);
  for (const int rank : {0, 1}) {
    const Bytes& own = right[static_cast<std::size_t>(rank)];
    CHECK_NOTHROW(trial.check(rank, own.data()));
    for (std::size_t i = 0; i < own.size(); ++i) {
      Bytes wrong = own;
      wrong[i] ^= std::byte{1};
      CHECK_THROWS(trial.check(rank, wrong.data()));
    }
  }
}

TEST_CASE("a trial for one rank has its memory, and no other's") {
  const Case given{.call = {.count = 5, .collective = Collective::all_reduce}};
  const Trial all(given, 2);
  const Trial own(given, 2, Values::whole, 1);
  CHECK(own.before(1) == all.before(1));
  CHECK(own.output(0) == all.output(0));
  CHECK_THROWS(own.before(0));
  CHECK_THROWS(own.check(0, all.before(0).data()));
}

TEST_CASE("inputs differ by rank, place, type and salt, and operators by result") {
  const Case sum{.call = {.count = 100, .collective = Collective::all_reduce}};
  const Bytes first = patterned(sum, 100, 0, 2, Values::whole);
  CHECK(first != patterned(sum, 100, 1, 2, Values::whole));
  CHECK(Bytes(first.begin(), first.begin() + 50) != Bytes(first.begin() + 50, first.end()));
  Case other = sum;
  other.salt = 1;
  CHECK(first != patterned(other, 100, 0, 2, Values::whole));
}

}  // namespace
}  // namespace rondo::test
