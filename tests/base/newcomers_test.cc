// How many connections may wait to be recognised, and for how long.
#include "core/base/newcomers.h"

#include <vector>

#include "tests/catch.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;
using Clock = Newcomers<int>::Clock;

TEST_CASE("newcomers wait five seconds where there is room") {
  Newcomers<int> all;
  const Clock::time_point begin{};
  CHECK_FALSE(all.next());
  CHECK_FALSE(all.take_late(begin));
  all.add(1, begin);
  all.add(2, begin + milliseconds(10));
  CHECK(all.next() == begin + milliseconds(5000));
  CHECK_FALSE(all.take_late(begin + milliseconds(4999)));
  const auto late = all.take_late(begin + milliseconds(5000));
  REQUIRE(late);
  CHECK(late->who == 1);
  CHECK_FALSE(late->made_room);
  CHECK(all.next() == begin + milliseconds(5010));
  all.remove(2);
  CHECK(all.empty());
}

TEST_CASE("where too many wait, the oldest makes room after a quarter of a second") {
  const int expected = GENERATE(0, 100);
  const int most = 64 + expected;
  Newcomers<int> all;
  all.expect(static_cast<std::size_t>(expected));
  const Clock::time_point begin{};
  for (int i = 0; i < most; ++i) {
    CHECK_FALSE(all.is_full());
    all.add(i, begin + milliseconds(i));
  }
  CHECK(all.is_full());
  CHECK_FALSE(all.take_late(begin + milliseconds(249)));
  const auto late = all.take_late(begin + milliseconds(400));
  REQUIRE(late);
  CHECK(late->who == 0);
  CHECK(late->made_room);
  CHECK_FALSE(all.is_full());
  CHECK_FALSE(all.take_late(begin + milliseconds(400)));
  std::vector<int> left;
  all.for_each([&](int each) { left.push_back(each); });
  CHECK(left.size() == static_cast<std::size_t>(most) - 1);
  CHECK(left.front() == 1);
}

}  // namespace
}  // namespace rondo
