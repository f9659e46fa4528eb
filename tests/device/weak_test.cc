// The device executor on a weak memory: every algorithm, both protocols and the mailboxes.
#include "algorithms/table.h"
#include "core/resident/form.h"
#include "tests/catch.h"
#include "tests/device/weak_suite.h"
#include "tests/sanitizers.h"

namespace rondo::device::test {
namespace {

constexpr std::uint64_t program_seeds = rondo::test::is_sanitized ? 2 : 8;
constexpr std::uint64_t small_seeds = rondo::test::is_sanitized ? 8 : 40;

void check(ProgramRunner runner, const std::vector<ProgramCase>& calls) {
  for (std::uint64_t seed = 0; seed < program_seeds; ++seed) {
    const WeakRun run{.seed = seed};
    WeakRunner weak(run);
    const auto threads = static_cast<std::uint32_t>(1 + (seed + 1) % 3);
    INFO(runner.words(threads));
    REQUIRE(weak.wrong(runner.wrong(calls, threads, weak.run_teams())) == "");
  }
}

TEST_CASE("on a weak memory, every algorithm equals the reference") {
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : {2, 3, 4, 5}) {
      const int root = info(row.collective).has_root ? ranks / 2 : 0;
      check({row, ranks, root, weak_patience}, weak_programs(row));
      if (row.collective == Collective::barrier) continue;
      for (const Sharing& sharing : Lowered::sharings) {
        if (sharing.posted != resident::posted_in_windows(row.collective)) continue;
        auto merged = Lowered::merged(row, ranks, root, sharing);
        if (merged) check({row, *std::move(merged), weak_patience}, weak_merged_programs(row));
      }
    }
  }
}

TEST_CASE("on a weak memory, small all-reduces by hand equal their schedules") {
  const std::vector<SmallCase> calls = weak_small_calls();
  for (const int ranks : {2, 3, 4, 5}) {
    HostGroup group(mailboxes(ranks));
    for (std::uint64_t seed = 0; seed < small_seeds; ++seed) {
      const WeakRun run{.seed = seed};
      WeakRunner weak(run);
      const auto threads = static_cast<std::uint32_t>(1 + (seed + 1) % 3);
      REQUIRE(weak.wrong(wrong_small_calls(group, calls, threads, static_cast<unsigned>(seed),
                                           weak.run_teams(), weak_patience)) == "");
    }
  }
}

TEST_CASE("on a weak memory, who sees that a launch has ended sees all that its blocks did") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed)
    REQUIRE(wrong_marks({.seed = seed}, static_cast<std::uint32_t>(1 + seed % 3)) == "");
}

}  // namespace
}  // namespace rondo::device::test
