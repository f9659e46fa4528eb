// The device interpreter, with host threads as teams, against the reference: every algorithm,
// number of ranks, size, type, operator and protocol.
#include "kernels/device/interpret.h"

#include <algorithm>
#include <functional>

#include "algorithms/table.h"
#include "core/resident/form.h"
#include "tests/catch.h"
#include "tests/device/programs.h"
#include "tests/sanitizers.h"

namespace rondo::device::test {
namespace {

/// ThreadSanitizer makes every case ten times slower, and a few cases show its races as well.
const std::vector<int> rank_counts = rondo::test::cells<int>({1, 2, 3, 4, 5, 8}, {2, 3, 5});
const std::vector<std::size_t> counts =
    rondo::test::cells<std::size_t>({0, 1, 37, 5003}, {37, 2003});

void check(ProgramRunner& runner, const ProgramCase& given, std::uint32_t threads) {
  REQUIRE(runner.wrong({&given, 1}, threads, run_on_host) == "");
}

void check_sizes(ProgramRunner& runner, const Algorithm& row) {
  const bool may_alias = row.collective != Collective::all_to_all;
  for (const Protocol protocol : {Protocol::low_latency, Protocol::bulk}) {
    for (const std::size_t count : counts) {
      if (row.collective == Collective::barrier && count != counts[0]) continue;
      // Teams of one thread are as good as any where few elements are shared, and quick to run.
      check(runner, {.count = count, .protocol = protocol, .in_place = may_alias && count % 3 == 1},
            count == 37 ? 2 : 1);
    }
  }
}

void check_types(ProgramRunner& runner, const Algorithm& row, int turn) {
  if (row.collective == Collective::barrier) return;
  const bool reduces = info(row.collective).reduces;
  for (const auto& type : data_types) {
    const auto& op = reduce_operators[static_cast<std::size_t>(turn) % reduce_operators.size()];
    // Those of merged programs are divided once, not as the reference does: tests/resident.
    const bool merged_average = runner.is_merged() && op.op == ReduceOperator::avg;
    const bool applies = reduces && !merged_average && applies_to(op.op, type.type);
    check(runner,
          {.count = 300,
           .type = type.type,
           .op = applies ? op.op : ReduceOperator::sum,
           .protocol = turn % 2 == 0 || runner.is_merged() ? Protocol::bulk : Protocol::low_latency,
           .misaligned = static_cast<std::size_t>(turn % 4 == 3)},
          static_cast<std::uint32_t>(1 + turn % 3));
    ++turn;
  }
}

TEST_CASE("the device interpreter equals the reference: every algorithm, size and protocol") {
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : rank_counts) {
      if (row.collective == Collective::send_recv && ranks == 1) continue;
      const int root = info(row.collective).has_root ? ranks / 2 : 0;
      ProgramRunner runner(row, ranks, root);
      check_sizes(runner, row);
    }
  }
}

TEST_CASE("the device interpreter equals the reference: every merged program") {
  int merged = 0;
  for (const Algorithm& row : algorithms()) {
    if (row.collective == Collective::barrier) continue;  // a token lies in no window
    for (const int ranks : rank_counts) {
      for (const Sharing& sharing : Lowered::sharings) {
        if (sharing.posted != resident::posted_in_windows(row.collective)) continue;
        auto lowered =
            Lowered::merged(row, ranks, info(row.collective).has_root ? ranks / 2 : 0, sharing);
        if (!lowered) continue;
        ++merged;
        ProgramRunner runner(row, *std::move(lowered));
        const bool may_alias = row.collective != Collective::all_to_all;
        for (const std::size_t count : counts)
          check(runner, {.count = count, .in_place = may_alias && count % 3 == 1},
                count == 37 ? 2 : 1);
        if (ranks == 3) check_types(runner, row, 4 * merged);
      }
    }
  }
  CHECK(merged > 20);
}

// Its communicator was aborted long ago, and whoever had come to the call has met with all others.
TEST_CASE("a replay in windows that begins after an abort touches nothing") {
  const bool is_replay = GENERATE(false, true);
  const Lowered lowered = Lowered::merged(*find_algorithm(Collective::all_gather, "one_shot"), 2, 0,
                                          Lowered::sharings[2])
                              .value();
  HostGroup group(small_arena(lowered));
  ProgramRanks ranks(lowered, group, {.count = 300}, 1);
  RankContext context = ranks.context(0);
  context.marks.in_every_block = is_replay;
  group.control(0).abort = 1;
  const ArenaPlaces places(group.shape());
  for (std::uint32_t stripe = 0; stripe < group.shape().stripes; ++stripe) {
    std::byte* const word = group.arenas()[0] + places.meeting(places.channel(1, stripe));
    *reinterpret_cast<std::uint64_t*>(word) = 100;
  }
  std::vector<char> whole(ranks.teams());
  run_teams(ranks.teams(), 2, [&](HostTeam& team, std::uint32_t number) {
    const bool ended = run_lane(team, context, number);
    if (team.lane() == 0) whole[number] = ended;
  });
  CHECK(whole == std::vector<char>(ranks.teams(), !is_replay));
  const std::span<const std::byte> output = ranks.memory(1)[1];
  const bool touched =
      std::ranges::any_of(output, [](std::byte each) { return each != std::byte{0}; });
  CHECK(touched == !is_replay);
}

TEST_CASE("the device interpreter equals the reference: every type and operator") {
  int turn = 0;
  for (const Algorithm& row : algorithms()) {
    ProgramRunner runner(row, 3, 0);
    check_types(runner, row, turn++);
  }
  // All types with all operators, where an op combines three operands and where it combines two.
  for (const char* algorithm : {"one_shot", "ring"}) {
    ProgramRunner runner(*find_algorithm(Collective::all_reduce, algorithm), 3, 0);
    for (turn = 0; turn < 5; ++turn)
      check_types(runner, *find_algorithm(Collective::all_reduce, algorithm), turn);
  }
}

TEST_CASE("the slices of all stripes are a whole chunk, and no two stripes begin alike") {
  const Lowered lowered(*find_algorithm(Collective::all_reduce, "two_shot"), 2, 0);
  ArenaShape arena = small_arena(lowered);
  arena.stripes = 8;
  for (const DataType type : {DataType::int8, DataType::float32, DataType::float64}) {
    for (const std::size_t count : {1, 37, 5003, 70'001, 300'000}) {
      const Prepared part =
          lowered.prepare(0, count, type, ReduceOperator::sum, Protocol::bulk, arena);
      const RankContext context{.program = part.program.data(), .sizes = part.sizes};
      std::vector<int> moved(part.sizes.offset(1));
      std::vector<std::uint64_t> first;
      for (std::uint32_t team = 0; team < part.teams(); ++team) {
        const LaneView view(context, team);
        for (std::uint64_t pass = 0; pass < view.passes; ++pass) {
          const std::uint64_t slice = view.elements({.extent_count = 1}, 0, pass);
          REQUIRE(slice <= part.sizes.slice);
          for (std::uint64_t i = 0; i < slice; ++i) ++moved[view.skipped(pass) + i];
          if (pass == 0) first.push_back(view.moved(1));
        }
      }
      CHECK(std::ranges::count(moved, 1) == std::ssize(moved));
      if (part.sizes.passes < 2) continue;
      CHECK(std::ranges::adjacent_find(first, std::ranges::less_equal{}) == first.end());
    }
  }
}

TEST_CASE("the device interpreter's teams may be wider than a warp, and than an op's operands") {
  if (rondo::test::looks_for_races) return;  // hundreds of threads, which would take it minutes
  for (const Algorithm& row : algorithms()) {
    if (row.collective == Collective::barrier) continue;  // it has no elements to share
    ProgramRunner runner(row, 3, 0);
    for (const Protocol protocol : {Protocol::low_latency, Protocol::bulk}) {
      for (const std::size_t misaligned : {0, 1}) {
        check(runner, {.count = 300, .protocol = protocol, .misaligned = misaligned},
              misaligned == 0 ? 32 : 40);
      }
    }
  }
}

}  // namespace
}  // namespace rondo::device::test
