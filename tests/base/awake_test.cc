// Time that runs only while the process does, by a clock that the test sets.
#include "core/base/awake.h"

#include "tests/catch.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;

TEST_CASE("the time between two looks counts as one step at most") {
  const AwakeClock::Clock::time_point begin{milliseconds(5000)};
  AwakeClock clock(begin);
  const auto at = [&](int real) {
    return std::chrono::duration_cast<milliseconds>(clock.now(begin + milliseconds(real)) - begin)
        .count();
  };
  CHECK(at(0) == 0);
  CHECK(at(30) == 30);
  CHECK(at(80) == 80);
  CHECK(at(9000) == 130);
  CHECK(at(9001) == 131);
  CHECK(at(9052) == 181);
}

TEST_CASE("a wait by steps ends when its condition holds, or when its time is over") {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  for (const int longest : {0, 1, 100, 150}) {
    const auto begin = AwakeClock::Clock::now();
    CHECK_FALSE(wait_awake(changed, lock, milliseconds(longest), [] { return false; }));
    CHECK(AwakeClock::Clock::now() - begin >= milliseconds(longest));
    CHECK(wait_awake(changed, lock, milliseconds(longest), [] { return true; }));
  }
  for (const int looks : {2, 3}) {
    int left = looks;  // one look as each step begins, one as it ends
    CHECK(wait_awake(changed, lock, milliseconds(1000), [&] { return --left < 0; }));
  }
}

}  // namespace
}  // namespace rondo
