// Whether the weak memory would find a mistake. Every acquire, release, barrier and vote of the
// device executor is weakened, one at a time, and some call must go wrong.
#include <algorithm>

#include "algorithms/table.h"
#include "core/resident/form.h"
#include "tests/catch.h"
#include "tests/device/weak_suite.h"

namespace rondo::device::test {
namespace {

constexpr std::uint64_t most_seeds = 20;

std::uint32_t threads_of(const WeakRun& run) {
  return static_cast<std::uint32_t>(2 + run.seed % 2);
}
/// The first thing that goes wrong; empty: nothing.
std::string wrong_programs(const WeakRun& run) {
  for (const Algorithm& row : algorithms()) {
    ProgramRunner runner(row, 3, 0, weak_patience);
    WeakRunner weak(run);
    std::string wrong =
        weak.wrong(runner.wrong(weak_programs(row), threads_of(run), weak.run_teams()));
    if (!wrong.empty()) return wrong;
  }
  return {};
}
std::string wrong_merged_programs(const WeakRun& run) {
  for (const Algorithm& row : algorithms()) {
    for (const Sharing& sharing : Lowered::sharings) {
      if (sharing.posted != resident::posted_in_windows(row.collective)) continue;
      auto merged = Lowered::merged(row, 3, 0, sharing);
      if (!merged || row.collective == Collective::barrier) continue;
      ProgramRunner runner(row, *std::move(merged), weak_patience);
      WeakRunner weak(run);
      std::string wrong =
          weak.wrong(runner.wrong(weak_merged_programs(row), threads_of(run), weak.run_teams()));
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}
std::string wrong_mailboxes(const WeakRun& run) {
  HostGroup group(mailboxes(3));
  WeakRunner weak(run);
  return weak.wrong(wrong_small_calls(group, weak_small_calls(), threads_of(run), 0,
                                      weak.run_teams(), weak_patience));
}
std::string wrong_calls(const WeakRun& run) {
  std::string wrong = wrong_marks(run, threads_of(run));
  if (wrong.empty()) wrong = wrong_mailboxes(run);
  if (wrong.empty()) wrong = wrong_merged_programs(run);
  return wrong.empty() ? wrong_programs(run) : wrong;
}

/// What goes wrong under the first seed that shows it.
template <class Calls>
std::string found(WeakRun run, const Calls& calls) {
  std::string wrong;
  for (; wrong.empty() && run.seed < most_seeds; ++run.seed) wrong = calls(run);
  return wrong;
}

std::set<OrderedPlace> ordered_places() {
  std::set<OrderedPlace> places;
  REQUIRE(wrong_calls({.seed = 0, .places = &places}) == "");
  // The tests' own barriers stand for the end of a launch, and their loads for the host's.
  std::erase_if(places, [](const OrderedPlace& place) {
    return place.file == "programs.h" || place.file == "small_calls.h" ||
           place.file == "weak_suite.h";
  });
  return places;
}

/// One barrier is not needed: a thread wipes just the packets of a mailbox that it writes itself. The
/// credits of packets keep loads before later stores, and this memory never swaps these.
bool is_seen(const std::string& words) {
  return words != "small.h wipe: barrier" && words != "low_latency.h await_credit: acquire" &&
         words != "low_latency.h return_credits: release";
}

TEST_CASE("the weak memory finds every acquire, release, barrier and vote that is left out") {
  const std::set<OrderedPlace> places = ordered_places();
  CHECK(places.size() == 23);
  for (const OrderedPlace& place : places) {
    INFO(place.words() << ", line " << place.line);
    const std::string wrong = found({.weakened = &place}, wrong_calls);
    CHECK(wrong.empty() != is_seen(place.words()));
  }
}

TEST_CASE("the weak memory finds words that are not read as a whole") {
  const WeakRun torn{.tears = true};
  CHECK(found(torn, wrong_programs).find("wrong output") != std::string::npos);
  CHECK(found(torn, wrong_mailboxes).find("wrong output") != std::string::npos);
}

TEST_CASE("a seed repeats its run") {
  const std::set<OrderedPlace> places = ordered_places();
  const auto release = std::ranges::find(places, "bulk.h publish: release", &OrderedPlace::words);
  REQUIRE(release != places.end());
  const WeakRun run{.seed = 7, .weakened = &*release};
  const std::string once = wrong_programs(run);
  CHECK(once != "");
  CHECK(wrong_programs(run) == once);
}

}  // namespace
}  // namespace rondo::device::test
