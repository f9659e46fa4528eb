// The timeout of waits, by a clock that the test sets.
#include "core/communicator/watchdog.h"

#include "tests/catch.h"

namespace rondo::detail {
namespace {

using std::chrono::milliseconds;
using Verdict = Silence::Verdict;

/// A look at a time since the wait's first one, with the timeout in force then, and what it says.
struct Look {
  int at;       ///< in ms
  int timeout;  ///< in ms
  Verdict verdict;
};

void check(Silence& silence, const std::vector<Look>& looks) {
  const Silence::Clock::time_point begin = Silence::Clock::now();
  for (const Look& look : looks) {
    INFO("at " << look.at << " ms with a timeout of " << look.timeout << " ms");
    CHECK(silence.assess(milliseconds(look.timeout), begin + milliseconds(look.at)) ==
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
  Silence silence;
  check(silence, usual);
}

TEST_CASE("progress starts the time of a wait anew") {
  const std::size_t looks = GENERATE(range(std::size_t{0}, usual.size()));
  Silence silence;
  check(silence, {usual.begin(), usual.begin() + static_cast<std::ptrdiff_t>(looks)});
  silence.reset();
  check(silence, usual);
}

/// A control channel that only counts what it is asked.
class CountingLine final : public ControlChannel {
 public:
  int reports = 0;
  int expired_reports = 0;

  std::vector<std::string> exchange(const std::string&) override { return {}; }
  std::vector<std::optional<std::string>> exchange_living(const std::string&,
                                                          milliseconds) override {
    return {};
  }
  Error failure() const override { return {ErrorCode::internal, "none"}; }
  void fail(const Error&) noexcept override {}
  void report_stall(bool expired) override { ++(expired ? expired_reports : reports); }
  void report_stall_on(int, const std::string&, bool expired) override { report_stall(expired); }
  void report_mismatch(int, std::uint64_t, bool) override {}
  void leave() noexcept override {}
  void compare_calls(milliseconds) override {}
};

/// Looks of several threads in turn, by a clock that starts with the first.
class Watch {
 public:
  void look(std::uint64_t moves, int at) {
    watchdog_.act(watchdog_.assess(moves, begin_ + milliseconds(at)), std::nullopt);
  }
  /// Looks every half second between the two times, and at the later one.
  void look_on(std::uint64_t moves, int from, int to) {
    for (int at = from + 500; at < to; at += 500) look(moves, at);
    look(moves, to);
  }
  void set_timeout(int timeout) { watchdog_.set_timeout(milliseconds(timeout)); }
  const CountingLine& line() const { return line_; }

 private:
  CountingLine line_{};
  Watchdog watchdog_{0, line_, {.timeout = milliseconds(2500)}, nullptr};
  Silence::Clock::time_point begin_ = Silence::Clock::now();
};

// The progress thread looks at work whose handle was let go. Then a blocking call begins, whose
// thread looks from there on: the deadline of the first must not move.
TEST_CASE("a call that begins beside silent work does not put off its deadline") {
  Watch watch;
  watch.look(5, 0);
  watch.look_on(5, 0, 2400);
  CHECK(watch.line().reports == 2);
  watch.look(5, 2501);
  CHECK(watch.line().expired_reports == 1);
}

TEST_CASE("whoever sees something move starts the time of all waits anew") {
  Watch watch;
  watch.look(5, 0);
  watch.look(6, 2400);
  watch.look_on(6, 2400, 4900);
  CHECK(watch.line().expired_reports == 0);
  CHECK(watch.line().reports == 2);
  watch.look(6, 4901);
  CHECK(watch.line().expired_reports == 1);
  watch.look(7, 5000);
  watch.look(7, 5999);
  CHECK(watch.line().reports == 2);
  watch.look(7, 6000);
  CHECK(watch.line().reports == 3);
}

TEST_CASE("when nobody answers, the wait ends all the same") {
  Watch watch;
  watch.set_timeout(100);
  watch.look(0, 0);
  for (int question = 0; question < 5; ++question) watch.look(0, 101 + 1000 * question);
  CHECK(watch.line().expired_reports == 5);
  CHECK_THROWS_AS(watch.look(0, 5101), Error);
}

TEST_CASE("after a timeout is shortened during a wait, the others are asked before all is lost") {
  Silence silence;
  check(silence, {{0, 300'000, Verdict::wait},
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
  Silence silence;
  check(silence, {{0, 100, Verdict::wait},
                  {101, 100, Verdict::expired},
                  {1101, 3000, Verdict::report},
                  {2101, 3000, Verdict::report},
                  {2999, 3000, Verdict::wait},
                  {3001, 3000, Verdict::expired},
                  {4001, 3000, Verdict::expired},
                  {5001, 3000, Verdict::expired},
                  {6001, 3000, Verdict::expired},
                  {7001, 3000, Verdict::expired},
                  {8001, 3000, Verdict::lost}});
}

TEST_CASE("the time in which a rank stood still is no silence of its peers") {
  Silence silence;
  check(silence, {{0, 2500, Verdict::wait},
                  {60'000, 2500, Verdict::report},
                  {120'000, 2500, Verdict::report},
                  {120'500, 2500, Verdict::wait},
                  {120'501, 2500, Verdict::expired}});
}

TEST_CASE("a rank that did not run for long asks before it gives up") {
  Silence silence;
  check(
      silence,
      {{0, 100, Verdict::wait}, {60'000, 100, Verdict::expired}, {120'000, 100, Verdict::expired}});
}

}  // namespace
}  // namespace rondo::detail
