// The programs of calls against the reference, in the arenas that communicators have.
#include "core/resident/programs.h"

#include "algorithms/table.h"
#include "core/resident/form.h"
#include "kernels/device/calls.h"
#include "tests/catch.h"
#include "tests/device/placed.h"

namespace rondo::resident {
namespace {

using device::test::HostGroup;
using device::test::HostTeam;
using device::test::Placed;

/// A rank's call: its buffers and what is launched.
struct Part {
  Placed in;
  Placed out;
  device::ProgramCall call;
};

/// Makes one call of all ranks after another, with the same arenas and programs.
class Group {
 public:
  explicit Group(int ranks) : ranks_(ranks), memory_(arena_shape(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) programs_.emplace_back(rank, ranks, memory_.shape());
  }

  void check(const Call& call) {
    REQUIRE(choose(call, ranks_).form == Form::program);
    const Schedule schedule =
        find_algorithm(call.collective, algorithm_of(call.collective))->build(ranks_, call.root);
    const auto [inputs, expected] =
        device::test::expected_of({.call = call, .salt = ++calls_}, schedule);
    const std::vector<Bytes> got = run(call, inputs, expected);
    for (int rank = 0; rank < ranks_; ++rank) {
      INFO(to_string(call) << " of " << ranks_ << " ranks, rank " << rank);
      REQUIRE(got[static_cast<std::size_t>(rank)] == expected[static_cast<std::size_t>(rank)]);
    }
  }

 private:
  /// `expected`: what the outputs are as long as.
  std::vector<Bytes> run(const Call& call, const std::vector<Bytes>& inputs,
                         const std::vector<Bytes>& expected) {
    std::vector<Part> parts;
    parts.reserve(inputs.size());
    std::uint32_t stripes = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      Part& part = parts.emplace_back(Part{
          Placed(inputs[at], 0), Placed(Bytes(expected[at].size()), 0), device::ProgramCall{}});
      memory_.control(rank).patience = device::test::ample_patience;
      part.call.input = part.in.data();
      part.call.output = part.out.data();
      part.call.arenas = memory_.arenas();
      part.call.control = &memory_.control(rank);
      const std::uint32_t mine = programs_[at].write(call, part.call.image);
      REQUIRE((rank == 0 || mine == stripes));
      stripes = mine;
    }
    device::test::run_teams(
        static_cast<std::uint32_t>(ranks_) * stripes, 1, [&](HostTeam& team, std::uint32_t number) {
          run_lane_until_taken(team, parts[number / stripes].call.context(), 0, number % stripes);
        });
    std::vector<Bytes> outputs;
    for (Part& part : parts) outputs.push_back(part.out.bytes());
    return outputs;
  }

  const int ranks_;
  HostGroup memory_;
  std::vector<Programs> programs_{};
  unsigned calls_ = 0;
};

constexpr std::array moved{Collective::all_gather, Collective::broadcast, Collective::all_to_all,
                           Collective::scatter, Collective::gather};
constexpr std::array reduced{Collective::reduce_scatter, Collective::reduce};

TEST_CASE("every collective's program equals the reference, whatever its size and root") {
  const int ranks = GENERATE(2, 3, 4, 8);
  Group group(ranks);
  for (const auto& collectives : {std::vector<Collective>(moved.begin(), moved.end()),
                                  std::vector<Collective>(reduced.begin(), reduced.end())}) {
    for (const Collective collective : collectives) {
      const auto blocks =
          static_cast<std::size_t>(make_layout(collective, ranks, 1).blocks) * sizeof(float);
      for (const std::size_t count :
           {std::size_t{1}, std::size_t{1001}, std::size_t{5000}, most_bytes / blocks}) {
        for (int root = 0; root < (info(collective).has_root ? ranks : 1); root += 2)
          group.check(
              {.count = count, .collective = collective, .type = DataType::float32, .root = root});
      }
    }
  }
  group.check({.count = most_bytes / 2,
               .collective = Collective::all_reduce,
               .type = DataType::bfloat16,
               .op = ReduceOperator::max});
}

TEST_CASE("programs of every type and operator") {
  Group group(3);
  for (const auto& type : data_types) {
    for (const auto& op : reduce_operators) {
      if (op.op == ReduceOperator::avg || !applies_to(op.op, type.type)) continue;
      for (const Collective collective : reduced)
        group.check({.count = 3001, .collective = collective, .type = type.type, .op = op.op});
    }
    for (const Collective collective : moved)
      group.check({.count = 301, .collective = collective, .type = type.type});
  }
}

TEST_CASE("the programs of the most ranks that there may be fit a kernel's arguments") {
  const int ranks = GENERATE(most_program_ranks - 1, most_program_ranks);
  for (const auto& row : collectives) {
    if (row.collective == Collective::barrier || row.collective == Collective::send_recv) continue;
    const auto blocks = static_cast<std::size_t>(make_layout(row.collective, ranks, 1).blocks);
    const Call call{
        .count = most_bytes / blocks, .collective = row.collective, .type = DataType::uint8};
    // All-reduces of 16 ranks are small up to most_bytes.
    CHECK((choose(call, ranks).form == Form::program) ==
          (row.collective != Collective::all_reduce || ranks < most_program_ranks));
    if (choose(call, ranks).form != Form::program) continue;
    for (int rank = 0; rank < ranks; ++rank) {
      Programs programs(rank, ranks, arena_shape(ranks));
      device::ProgramCall made{};
      CHECK_NOTHROW(programs.write(call, made.image));
    }
  }
}

}  // namespace
}  // namespace rondo::resident
