// The programs of calls against the reference, in the arenas that communicators have.
#include "core/resident/programs.h"

#include "algorithms/table.h"
#include "core/resident/form.h"
#include "kernels/device/calls.h"
#include "tests/catch.h"
#include "tests/device/placed.h"
#include "tests/sanitizers.h"

namespace rondo::resident {
namespace {

using device::test::HostGroup;
using device::test::HostTeam;
using device::test::Placed;

/// Where ranks of one machine live, and how their communicator chooses.
Topology around(int ranks) { return {.ranks = ranks, .one_machine = true, .direct = true}; }

/// A rank's call: its buffers, its scratch memory and what is launched.
struct Part {
  Placed in;
  Placed out;
  Placed scratch;
  device::RankContext call;
};

/// Makes one call of all ranks after another, with the same arenas and programs.
class Group {
 public:
  explicit Group(int ranks, std::string_view algorithm = {}, std::uint32_t stripes = most_stripes,
                 const Scripts& written = {})
      : ranks_(ranks),
        selection_(algorithm, "a test", written),
        memory_(arena_shape(ranks, stripes)) {
    for (int rank = 0; rank < ranks; ++rank)
      programs_.emplace_back(rank, around(ranks), memory_.shape());
    stored_.resize(programs_.size());
  }

  void check(const Call& call, std::size_t misaligned = 0) {
    const Choice choice = resident::choose(call, around(ranks_), selection_);
    REQUIRE(choice.form == Form::program);
    const Schedule schedule = choice.composition.build(around(ranks_), call.root);
    const auto [inputs, expected] =
        device::test::expected_of({.call = call, .salt = ++calls_}, schedule);
    const std::vector<Bytes> got = run(call, choice.composition, misaligned, inputs, expected);
    for (int rank = 0; rank < ranks_; ++rank) {
      INFO(to_string(call) << " by " << schedule.algorithm << " of " << ranks_ << " ranks, rank "
                           << rank << ", misaligned " << misaligned);
      REQUIRE(got[static_cast<std::size_t>(rank)] == expected[static_cast<std::size_t>(rank)]);
    }
  }

 private:
  /// `expected`: what the outputs are as long as.
  std::vector<Bytes> run(const Call& call, const Composition& composition, std::size_t misaligned,
                         const std::vector<Bytes>& inputs, const std::vector<Bytes>& expected) {
    std::vector<Part> parts;
    parts.reserve(inputs.size());
    std::uint32_t teams = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const StoredProgram& stored = programs_[at].find(
          composition, call.root, [&](std::size_t number, std::span<const std::byte> program) {
            REQUIRE(number == stored_[at].size());
            stored_[at].emplace_back(program.begin(), program.end());
          });
      Part& part = parts.emplace_back(
          Part{Placed(inputs[at], misaligned), Placed(Bytes(expected[at].size()), misaligned),
               Placed(Bytes(scratch_bytes(memory_.shape())), 0), memory_.context(rank)});
      memory_.control(rank).patience = device::test::ample_patience;
      part.call.program = stored_[at][stored.number].data();
      part.call.input = part.in.data();
      part.call.output = part.out.data();
      part.call.scratch = part.scratch.data();
      part.call.sizes = programs_[at].sizes_of(stored, call);
      const auto lanes = static_cast<std::uint32_t>(stored.schedule.lanes);
      const std::uint32_t mine = lanes * part.call.sizes.stripes;
      REQUIRE((rank == 0 || mine == teams));
      teams = mine;
    }
    device::test::run_teams(
        static_cast<std::uint32_t>(ranks_) * teams, 1, [&](HostTeam& team, std::uint32_t number) {
          run_lane_until_taken(team, parts[number / teams].call, number % teams);
        });
    std::vector<Bytes> outputs;
    for (Part& part : parts) outputs.push_back(part.out.bytes());
    return outputs;
  }

  const int ranks_;
  const AlgorithmSelection selection_;
  HostGroup memory_;
  std::vector<Programs> programs_{};
  std::vector<std::vector<std::vector<std::byte>>> stored_{};  ///< by rank and number
  unsigned calls_ = 0;
};

/// Of all blocks, in the largest calls here.
constexpr std::size_t most_bytes = std::size_t{512} << 10;

constexpr std::array moved{Collective::all_gather, Collective::broadcast, Collective::all_to_all,
                           Collective::scatter, Collective::gather};
constexpr std::array reduced{Collective::reduce_scatter, Collective::reduce};

TEST_CASE("every collective's program equals the reference, whatever its size and root") {
  const int ranks = GENERATE(from_range(test::cells<int>({2, 3, 4, 8}, {3})));
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

TEST_CASE("a call takes the algorithm that is asked for, at every size") {
  const int ranks = GENERATE(from_range(test::cells<int>({2, 3, 5}, {3})));
  for (const Algorithm& row : algorithms()) {
    if (row.collective == Collective::barrier || row.collective == Collective::send_recv) continue;
    Group group(ranks, std::string(name(row.collective)) + ":" + std::string(row.name), 8);
    const auto blocks = static_cast<std::size_t>(make_layout(row.collective, ranks, 1).blocks);
    for (const std::size_t bytes :
         test::cells<std::size_t>({40, 100'000, 3 * most_bytes}, {100'000})) {
      const Call call{
          .count = bytes / blocks / 4, .collective = row.collective, .type = DataType::int32};
      if (resident::choose(call, around(ranks), AlgorithmSelection(row.name, "a test")).form ==
          Form::small)
        continue;  // one_shot and two_shot by hand: tests/device/small_test.cc
      group.check(call);
    }
  }
}

TEST_CASE("buffers of programs may begin at any byte") {
  Group group(3);
  for (const DataType type : {DataType::float32, DataType::bfloat16, DataType::int64}) {
    for (const std::size_t count : {std::size_t{333}, std::size_t{40'001}}) {
      group.check({.count = count, .collective = Collective::reduce_scatter, .type = type}, 1);
      group.check({.count = count, .collective = Collective::all_to_all, .type = type}, 5);
    }
  }
}

TEST_CASE("the longest programs have room, and there is room for so many") {
  const int ranks = GENERATE(31, 32);
  std::size_t made = 0;
  Programs programs(ranks - 1, around(ranks), arena_shape(ranks, most_stripes));
  for (const Algorithm& row : algorithms()) {
    if (row.collective == Collective::barrier || row.collective == Collective::send_recv) continue;
    const Composition composition = find_composition(row.collective, row.name);
    CHECK(programs.has_room_for(composition, 0) == (made < most_programs));
    if (made == most_programs) break;
    CHECK_NOTHROW(programs.find(composition, 0, [&](std::size_t number, const auto& program) {
      CHECK(number == made);
      CHECK(program.size() <= program_bytes);
    }));
    ++made;
    CHECK(programs.has_room_for(composition, 0));
  }
  for (int root = 1; programs.has_room_for(find_composition(Collective::gather, "linear"), root);
       ++root, ++made)
    programs.find(find_composition(Collective::gather, "linear"), root, [](auto, auto) {});
  CHECK(made == most_programs);
  CHECK(programs.has_room_for(find_composition(Collective::gather, "linear"), 0));
}

/// Two ranks swap their blocks in so many parts.
Scripts written_swap(const std::string& parts) {
  return parse_scripts({{"mine", "collective all_gather\nalgorithm mine\nranks 2\nparts " + parts +
                                     "\nrank r\n let other = 1-r\n let n = " + parts +
                                     "\n for i in 0..n-1\n  send input[n*r+i] to other\n"
                                     "  receive from other into output[n*other+i]\n end\n"
                                     " copy input[n*r..n*r+n-1] into output[n*r..n*r+n-1]\n"}});
}

TEST_CASE("a program that a user wrote runs, where it is not too long") {
  Group group(2, {}, most_stripes, written_swap("5"));
  for (const std::size_t count : {std::size_t{1}, std::size_t{1001}, std::size_t{50'000}})
    group.check({.count = count, .collective = Collective::all_gather, .type = DataType::float32});
  const Programs programs(0, around(2), arena_shape(2, most_stripes));
  const Call call{.count = 1000, .collective = Collective::all_gather, .type = DataType::float32};
  CHECK(programs.fits({.written = written_swap("5").front()}, call));
  CHECK_FALSE(programs.fits({.written = written_swap("500").front()}, call));
}

}  // namespace
}  // namespace rondo::resident
