// The small all-reduces written by hand against the schedules of the same names.
#include "kernels/device/small.h"

#include <vector>

#include "tests/catch.h"
#include "tests/device/small_calls.h"
#include "tests/sanitizers.h"

namespace rondo::device::test {
namespace {

void check(HostGroup& group, const SmallCase& given, std::uint32_t threads = 2, unsigned salt = 0) {
  REQUIRE(given.count * size_of(given.type) <=
          small_capacity(group.shape(), given.algorithm, given.stripes));
  REQUIRE(wrong_small_calls(group, {&given, 1}, threads, salt, run_on_host) == "");
}

constexpr SmallAlgorithm both[] = {SmallAlgorithm::one_shot, SmallAlgorithm::two_shot};

}  // namespace

TEST_CASE("hand-written small all-reduces equal their schedules") {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    HostGroup group(mailboxes(ranks));
    std::uint32_t turn = 0;
    for (const std::uint64_t count : {0, 1, 2, 7, 64, 128, 3}) {
      for (const SmallAlgorithm algorithm : both) {
        check(
            group,
            {algorithm, count, DataType::float32, ReduceOperator::sum, 1 + turn % 2, turn % 3 == 0},
            2, turn);
        ++turn;
      }
    }
  }
}

TEST_CASE("hand-written small all-reduces: every type and operator") {
  HostGroup group(mailboxes(3));
  for (const auto& type : data_types) {
    for (const auto& op : reduce_operators) {
      if (!applies_to(op.op, type.type)) continue;
      for (const SmallAlgorithm algorithm : both)
        check(group, {algorithm, 29, type.type, op.op, 2, false});
    }
  }
}

TEST_CASE("hand-written small all-reduces by teams wider than a warp") {
  if (rondo::test::looks_for_races) return;  // hundreds of threads, which would take it minutes
  for (const int ranks : {2, 3}) {
    HostGroup group(mailboxes(ranks));
    for (const std::uint64_t count : {1, 31, 32, 33, 64, 100}) {
      for (const SmallAlgorithm algorithm : both) {
        for (const std::uint32_t threads : {32, 40}) {
          const std::uint32_t stripes = 1 + static_cast<std::uint32_t>(count % 2);
          check(group, {algorithm, count, DataType::float32, ReduceOperator::sum, stripes},
                threads);
        }
      }
    }
  }
}

TEST_CASE("both mailboxes of a pair are wiped, whatever the depth of the channels") {
  ArenaShape shape = mailboxes(2);
  shape.depth = 1;
  HostGroup group(shape);
  for (int call = 0; call < 100; ++call) {
    // Packets that were last written a period of flags ago.
    const std::uint64_t count = call % 32 == 1 ? 64 : 1;
    check(group, {SmallAlgorithm::one_shot, count}, 2, static_cast<unsigned>(call));
  }
}

TEST_CASE("a small all-reduce whose peer never comes ends and says so") {
  HostGroup group(mailboxes(2));
  group.control(0).patience = 50;
  const bool another_writes = GENERATE(false, true);  // a record that is not whole yet
  if (another_writes) group.control(0).failed = failure_taken;
  std::vector<float> values(8);
  SmallCall call;
  call.input = reinterpret_cast<const std::byte*>(values.data());
  call.output = reinterpret_cast<std::byte*>(values.data());
  call.arenas = group.arenas();
  call.control = &group.control(0);
  call.arena = group.shape();
  call.count = values.size();
  bool whole = true;
  run_teams(1, 1, [&](HostTeam& team, std::uint32_t) { whole = run_small(team, call, 0); });
  CHECK_FALSE(whole);
  CHECK(group.control(0).abort == 1);
  const Failure* const record = failure_of(group.control(0));
  REQUIRE((record == nullptr) == another_writes);
  if (another_writes) return;
  CHECK(record->awaited == Awaited::small_message);
  CHECK(record->ending == Ending::out_of_patience);
  CHECK(record->peer == 1);
}

}  // namespace rondo::device::test
