// The timeout of one wait, by a clock that the test sets.
#include "core/communicator/patience.h"

#include "tests/catch.h"

namespace rondo::detail {
namespace {

using std::chrono::milliseconds;
using Verdict = Patience::Verdict;

/// A look at a time since the wait's first one, with the timeout in force then, and what it says.
struct Look {
  int at;       ///< in ms
  int timeout;  ///< in ms
  Verdict verdict;
};

void check(Patience& patience, const std::vector<Look>& looks) {
  const Patience::Clock::time_point begin = Patience::Clock::now();
  for (const Look& look : looks) {
    INFO("at " << look.at << " ms with a timeout of " << look.timeout << " ms");
    CHECK(patience.judge(milliseconds(look.timeout), begin + milliseconds(look.at)) ==
          look.verdict);
  }
}

const std::vector<Look> usual{
    {0, 2500, Verdict::wait},       {999, 2500, Verdict::wait},     {1000, 2500, Verdict::report},
    {1999, 2500, Verdict::wait},    {2000, 2500, Verdict::report},  {2500, 2500, Verdict::wait},
    {2501, 2500, Verdict::expired}, {3500, 2500, Verdict::wait},    {3501, 2500, Verdict::expired},
    {4501, 2500, Verdict::expired}, {5501, 2500, Verdict::expired}, {6501, 2500, Verdict::expired},
    {7500, 2500, Verdict::wait},    {7501, 2500, Verdict::lost}};

TEST_CASE("silence is reported, then the others are asked, and the wait is lost if none answers") {
  Patience patience(false, false);
  check(patience, usual);
}

TEST_CASE("progress starts the time of a wait anew") {
  const std::size_t looks = GENERATE(range(std::size_t{0}, usual.size()));
  Patience patience(false, false);
  check(patience, {usual.begin(), usual.begin() + static_cast<std::ptrdiff_t>(looks)});
  patience.reset();
  check(patience, usual);
}

TEST_CASE("another thread's turn starts the time anew only if something has moved") {
  const std::size_t looks = GENERATE(range(std::size_t{1}, usual.size()));
  Patience patience(false, false);
  const Patience::Clock::time_point begin = Patience::Clock::now();
  std::uint64_t moves = 5;
  patience.resume(moves);
  for (std::size_t i = 0; i < usual.size(); ++i) {
    INFO("at " << usual[i].at << " ms");
    patience.resume(moves);
    CHECK(patience.judge(milliseconds(usual[i].timeout), begin + milliseconds(usual[i].at)) ==
          usual[i].verdict);
    if (i != looks) continue;
    patience.resume(++moves);
    return check(patience, usual);
  }
}

TEST_CASE("after a timeout is shortened during a wait, the others are asked before all is lost") {
  Patience patience(false, false);
  check(patience, {{0, 300'000, Verdict::wait},
                   {60'000, 300'000, Verdict::report},
                   {60'001, 100, Verdict::expired},
                   {61'000, 100, Verdict::wait},
                   {61'001, 100, Verdict::expired},
                   {62'001, 100, Verdict::expired},
                   {63'001, 100, Verdict::expired},
                   {64'001, 100, Verdict::expired},
                   {65'001, 100, Verdict::lost}});
}

TEST_CASE("if a timeout that is over is prolonged, the wait goes on to the new end") {
  Patience patience(false, false);
  check(patience, {{0, 100, Verdict::wait},
                   {101, 100, Verdict::expired},
                   {5000, 20'000, Verdict::report},
                   {19'999, 20'000, Verdict::report},
                   {20'001, 20'000, Verdict::expired},
                   {21'001, 20'000, Verdict::expired},
                   {22'001, 20'000, Verdict::expired},
                   {23'001, 20'000, Verdict::expired},
                   {24'001, 20'000, Verdict::expired},
                   {25'001, 20'000, Verdict::lost}});
}

TEST_CASE("a rank that did not run for long asks before it gives up") {
  Patience patience(false, false);
  check(
      patience,
      {{0, 100, Verdict::wait}, {60'000, 100, Verdict::expired}, {120'000, 100, Verdict::expired}});
}

}  // namespace
}  // namespace rondo::detail
