// The small all-reduces written by hand against the schedules of the same names.
#include "kernels/device/small.h"

#include <vector>

#include "algorithms/table.h"
#include "core/schedule/reference.h"
#include "kernels/cpu/reduce.h"
#include "tests/catch.h"
#include "tests/device/host_group.h"
#include "tests/device/placed.h"
#include "tests/sanitizers.h"

namespace rondo::device::test {
namespace {

struct Case {
  SmallAlgorithm algorithm;
  std::uint64_t count;
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;
  std::uint32_t stripes = 1;
  bool in_place = false;
  std::uint32_t threads = 2;
};

ArenaShape mailboxes(int ranks) {
  return {.ranks = static_cast<std::uint32_t>(ranks),
          .stripes = 2,
          .packet_stripes = 2,
          .frame_bytes = 16,
          .packets = 1,
          .mailbox = 64,
          .flag_period = 32,
          .wipe_interval = 4};
}

std::vector<Bytes> run(HostGroup& group, const Case& c, const std::vector<Bytes>& inputs) {
  const std::size_t ranks = inputs.size();
  std::vector<Placed> in, out;
  std::vector<SmallCall> calls;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    in.emplace_back(inputs[rank], 0);
    out.emplace_back(c.in_place ? inputs[rank] : Bytes(inputs[rank].size()), 0);
    group.control(static_cast<int>(rank)).patience = ample_patience;
    SmallCall& call = calls.emplace_back();
    call.input = c.in_place ? out.back().data() : in.back().data();
    call.output = out.back().data();
    call.arenas = group.arenas();
    call.control = &group.control(static_cast<int>(rank));
    call.arena = group.shape();
    call.rank = static_cast<std::uint32_t>(rank);
    call.count = c.count;
    call.recipe = {.type = c.type, .op = c.op};
    if (c.op == ReduceOperator::avg && c.type >= DataType::float16)
      call.recipe.before = 1.0 / static_cast<double>(ranks);
    call.algorithm = c.algorithm;
    call.stripes = c.stripes;
  }
  run_teams(static_cast<std::uint32_t>(ranks) * c.stripes, c.threads,
            [&](HostTeam& team, std::uint32_t number) {
              run_small(team, calls[number / c.stripes], number % c.stripes);
            });
  std::vector<Bytes> outputs;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    CHECK(group.control(static_cast<int>(rank)).failed == 0);
    if (c.op == ReduceOperator::avg) divide(c.type, out[rank].data(), ranks, c.count);
    outputs.push_back(out[rank].bytes());
  }
  return outputs;
}

void check(HostGroup& group, const Case& c, unsigned salt = 0) {
  const auto ranks = static_cast<int>(group.shape().ranks);
  const char* algorithm = c.algorithm == SmallAlgorithm::one_shot ? "one_shot" : "two_shot";
  const Schedule schedule = find_algorithm(Collective::all_reduce, algorithm)->build(ranks, 0);
  REQUIRE(c.count * size_of(c.type) <= small_capacity(group.shape(), c.algorithm, c.stripes));
  const Call call{
      .count = c.count, .collective = Collective::all_reduce, .type = c.type, .op = c.op};
  const auto [inputs, expected] = expected_of({.call = call, .salt = salt}, schedule);
  INFO(algorithm << " ranks " << ranks << " count " << c.count << " " << name(c.type) << " "
                 << name(c.op) << " stripes " << c.stripes << (c.in_place ? " in place" : "")
                 << ", " << c.threads << " threads");
  REQUIRE(run(group, c, inputs) == expected);
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
            turn);
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
          check(group, {algorithm, count, DataType::float32, ReduceOperator::sum, stripes, false,
                        threads});
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
    check(group, {SmallAlgorithm::one_shot, count}, static_cast<unsigned>(call));
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
