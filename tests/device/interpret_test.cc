// The device interpreter, with host threads as teams, against the reference: every algorithm,
// number of ranks, size, type, operator and protocol.
#include "kernels/device/interpret.h"

#include <vector>

#include "algorithms/table.h"
#include "kernels/cpu/reduce.h"
#include "tests/catch.h"
#include "tests/device/host_group.h"
#include "tests/device/lowered.h"
#include "tests/device/placed.h"
#include "tests/sanitizers.h"

namespace rondo::device::test {
namespace {

/// Slots are so small that even these tests' sizes need several passes, and flags repeat soon.
ArenaShape small_arena(const Lowered& lowered) {
  const auto teams = static_cast<std::uint32_t>(2 * lowered.schedule.lanes);
  return {.ranks = static_cast<std::uint32_t>(lowered.schedule.ranks),
          .stripes = teams,
          .packet_stripes = teams,
          .depth = static_cast<std::uint32_t>(lowered.traits.depth),
          .frame_bytes = 2048,
          .packets = 128,
          .mailbox = 1,
          .flag_period = 64,
          .wipe_interval = 8};
}

/// ThreadSanitizer makes every case ten times slower, and a few cases show its races as well.
#ifdef __SANITIZE_THREAD__
constexpr int rank_counts[] = {2, 3, 5};
constexpr std::size_t counts[] = {37, 2003};
#else
constexpr int rank_counts[] = {1, 2, 3, 4, 5, 8};
constexpr std::size_t counts[] = {0, 1, 37, 5003};
#endif

struct Case {
  std::size_t count;
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;
  Protocol protocol = Protocol::bulk;
  bool in_place = false;
  std::uint32_t threads = 2;
  std::size_t misaligned = 0;  ///< elements that buffers lie off 16 bytes
};

class Runner {
 public:
  Runner(const Algorithm& row, int ranks, int root)
      : row_(row), lowered_(row, ranks, root), group_(small_arena(lowered_)) {
    for (int rank = 0; rank < ranks; ++rank) group_.control(rank).patience = ample_patience;
  }

  void check(const Case& c) {
    const Schedule& schedule = lowered_.schedule;
    const Call call{.count = c.count,
                    .collective = schedule.collective,
                    .type = c.type,
                    .op = c.op,
                    .root = schedule.root};
    const auto [inputs, expected] = expected_of({.call = call, .salt = ++calls_}, schedule);
    const std::vector<Bytes> got = run(c, inputs, expected);
    INFO(name(row_.collective) << " " << row_.name << " ranks " << schedule.ranks << " root "
                               << schedule.root << " count " << c.count << " " << name(c.type)
                               << " " << name(c.op)
                               << (c.protocol == Protocol::bulk ? " bulk" : " low latency")
                               << (c.in_place ? " in place" : "") << ", " << c.threads
                               << " threads, misaligned " << c.misaligned);
    for (std::size_t rank = 0; rank < got.size(); ++rank) {
      INFO("rank " << rank);
      REQUIRE(got[rank] == expected[rank]);
    }
  }

 private:
  /// `expected`: what the outputs are as long as.
  std::vector<Bytes> run(const Case& c, const std::vector<Bytes>& inputs,
                         const std::vector<Bytes>& expected) {
    const Schedule& schedule = lowered_.schedule;
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    const std::size_t offset = c.misaligned * size_of(c.type);
    std::vector<Prepared> prepared;
    std::vector<Placed> in, out, scratch;
    std::vector<RankContext> contexts;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      prepared.push_back(lowered_.prepare(static_cast<int>(rank), c.count, c.type, c.op, c.protocol,
                                          group_.shape()));
      const bool same = c.in_place && inputs[rank].size() == expected[rank].size();
      in.emplace_back(inputs[rank], offset);
      out.emplace_back(same ? inputs[rank] : Bytes(expected[rank].size()), offset);
      scratch.emplace_back(Bytes(prepared.back().scratch_bytes), 0);
      contexts.push_back(group_.context(static_cast<int>(rank)));
      contexts.back().program = prepared.back().program.data();
      contexts.back().sizes = prepared.back().sizes;
      contexts.back().input = same ? out.back().data() : in.back().data();
      contexts.back().output = out.back().data();
      contexts.back().scratch = scratch.back().data();
    }
    // Only the teams that have a part: threads without work would take time to start.
    const std::uint32_t teams = prepared[0].teams();
    run_teams(group_.shape().ranks * teams, c.threads, [&](HostTeam& team, std::uint32_t number) {
      run_lane(team, contexts[number / teams], number % teams);
    });
    std::vector<Bytes> outputs;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const Control& control = group_.control(static_cast<int>(rank));
      const Failure& failure = control.failure;
      INFO("rank " << rank << " op " << failure.op << " of lane " << failure.lane << " stripe "
                   << failure.stripe << " waited for " << static_cast<int>(failure.awaited)
                   << " of peer " << failure.peer << " in pass " << failure.pass << ", step "
                   << failure.step);
      CHECK(control.failed == 0);
      if (info(schedule.collective).reduces && c.op == ReduceOperator::avg)
        rondo::divide(c.type, out[rank].data(), ranks, out[rank].size() / size_of(c.type));
      outputs.push_back(out[rank].bytes());
    }
    return outputs;
  }

  const Algorithm& row_;
  Lowered lowered_;
  HostGroup group_;
  unsigned calls_ = 0;
};

void check_sizes(Runner& runner, const Algorithm& row) {
  const bool may_alias = row.collective != Collective::all_to_all;
  for (const Protocol protocol : {Protocol::low_latency, Protocol::bulk}) {
    for (const std::size_t count : counts) {
      if (row.collective == Collective::barrier && count != counts[0]) continue;
      // Teams of one thread are as good as any where few elements are shared, and quick to run.
      runner.check({.count = count,
                    .protocol = protocol,
                    .in_place = may_alias && count % 3 == 1,
                    .threads = count == 37 ? 2u : 1u});
    }
  }
}

void check_types(Runner& runner, const Algorithm& row, int turn) {
  if (row.collective == Collective::barrier) return;
  const bool reduces = info(row.collective).reduces;
  for (const auto& type : data_types) {
    const auto& op = reduce_operators[static_cast<std::size_t>(turn) % reduce_operators.size()];
    runner.check({.count = 300,
                  .type = type.type,
                  .op = reduces && applies_to(op.op, type.type) ? op.op : ReduceOperator::sum,
                  .protocol = turn % 2 == 0 ? Protocol::bulk : Protocol::low_latency,
                  .threads = static_cast<std::uint32_t>(1 + turn % 3),
                  .misaligned = static_cast<std::size_t>(turn % 4 == 3)});
    ++turn;
  }
}

TEST_CASE("the device interpreter equals the reference: every algorithm, size and protocol") {
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : rank_counts) {
      if (row.collective == Collective::send_recv && ranks == 1) continue;
      const int root = info(row.collective).has_root ? ranks / 2 : 0;
      Runner runner(row, ranks, root);
      check_sizes(runner, row);
    }
  }
}

TEST_CASE("the device interpreter equals the reference: every type and operator") {
  int turn = 0;
  for (const Algorithm& row : algorithms()) {
    Runner runner(row, 3, 0);
    check_types(runner, row, turn++);
  }
  // All types with all operators, where an op combines three operands and where it combines two.
  for (const char* algorithm : {"one_shot", "ring"}) {
    Runner runner(*find_algorithm(Collective::all_reduce, algorithm), 3, 0);
    for (turn = 0; turn < 5; ++turn)
      check_types(runner, *find_algorithm(Collective::all_reduce, algorithm), turn);
  }
}

TEST_CASE("the device interpreter's teams may be wider than a warp, and than an op's operands") {
  if (rondo::test::looks_for_races) return;  // hundreds of threads, which would take it minutes
  for (const Algorithm& row : algorithms()) {
    if (row.collective == Collective::barrier) continue;  // it has no elements to share
    Runner runner(row, 3, 0);
    for (const Protocol protocol : {Protocol::low_latency, Protocol::bulk}) {
      for (const std::size_t misaligned : {0, 1}) {
        runner.check({.count = 300,
                      .protocol = protocol,
                      .threads = misaligned == 0 ? 32u : 40u,
                      .misaligned = misaligned});
      }
    }
  }
}

}  // namespace
}  // namespace rondo::device::test
