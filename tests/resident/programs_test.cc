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
                 const Scripts& written = {}, bool in_windows = false)
      : ranks_(ranks),
        selection_(algorithm, "a test", written),
        in_windows_(in_windows),
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
    const ProgramKey key{choice.composition, call.root, in_windows_};
    const std::vector<Bytes> got = run(call, key, misaligned, inputs, expected);
    for (int rank = 0; rank < ranks_; ++rank) {
      INFO(to_string(call) << " by " << schedule.algorithm << " of " << ranks_ << " ranks, rank "
                           << rank << ", misaligned " << misaligned);
      REQUIRE(got[static_cast<std::size_t>(rank)] == expected[static_cast<std::size_t>(rank)]);
    }
  }

 private:
  /// `expected`: what the outputs are as long as.
  std::vector<Bytes> run(const Call& call, const ProgramKey& key, std::size_t misaligned,
                         const std::vector<Bytes>& inputs, const std::vector<Bytes>& expected) {
    std::vector<Part> parts;
    parts.reserve(inputs.size());
    std::uint32_t teams = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const StoredProgram& stored =
          programs_[at].find(key, [&](std::size_t number, std::span<const std::byte> program) {
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
      part.call.sizes = device::sizes_of(programs_[at].request(stored, call));
      const auto lanes = static_cast<std::uint32_t>(stored.schedule.lanes);
      const std::uint32_t mine = lanes * part.call.sizes.stripes;
      REQUIRE((rank == 0 || mine == teams));
      teams = mine;
    }
    if (key.in_windows) place_windows(call, key, parts);
    device::test::run_teams(
        static_cast<std::uint32_t>(ranks_) * teams, 1, [&](HostTeam& team, std::uint32_t number) {
          run_lane_until_taken(team, parts[number / teams].call, number % teams);
        });
    std::vector<Bytes> outputs;
    for (Part& part : parts) outputs.push_back(part.out.bytes());
    return outputs;
  }

  /// Where the program needs them.
  void place_windows(const Call& call, const ProgramKey& key, std::vector<Part>& parts) {
    const WindowUse use = programs_[0].windows_of(key.composition, call);
    REQUIRE(use.any());
    std::vector<std::byte*> inputs, outputs;
    for (Part& part : parts) {
      if (use.input) inputs.push_back(part.in.data());
      if (use.output) outputs.push_back(part.out.data());
    }
    const StoredProgram& stored = programs_[0].find(key, [](auto, auto) { FAIL("it is stored"); });
    const device::WindowAddresses windows =
        device::windows_of(programs_[0].request(stored, call), inputs, outputs);
    for (Part& part : parts) part.call.windows = windows;
  }

  const int ranks_;
  const AlgorithmSelection selection_;
  const bool in_windows_;
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

TEST_CASE("programs in windows equal the reference, whatever the type and operator") {
  const int ranks = GENERATE(from_range(test::cells<int>({2, 3, 4, 8}, {3})));
  Group group(ranks, {}, most_stripes, {}, true);
  for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter,
                                      Collective::all_gather, Collective::all_to_all}) {
    const bool is_whole = collective == Collective::all_reduce;
    for (const std::size_t bytes : test::cells<std::size_t>({40'000, 100'004}, {40'000})) {
      for (const DataType type : {DataType::float32, DataType::bfloat16, DataType::int64}) {
        for (const ReduceOperator op :
             {ReduceOperator::sum, ReduceOperator::max, ReduceOperator::avg}) {
          const bool reduces = info(collective).reduces;
          if (op != ReduceOperator::sum && !reduces) continue;
          if (op == ReduceOperator::avg && is_float(type))
            continue;  // tests/nccl/device_windows_test.cc
          continue;    // the oracle's is rounded elsewhere
          const std::size_t blocks = is_whole ? static_cast<std::size_t>(ranks) : 1;
          group.check({.count = blocks * bytes / size_of(type),
                       .collective = collective,
                       .type = type,
                       .op = op},
                      bytes % 3);
        }
      }
    }
  }
}

TEST_CASE("which windows a call needs") {
  Programs programs(0, around(4), arena_shape(4, most_stripes));
  const auto windows = [&](Collective collective, std::string_view algorithm, std::size_t bytes) {
    const WindowUse use =
        programs.windows_of(find_composition(collective, algorithm),
                            {.count = bytes, .collective = collective, .type = DataType::uint8});
    return std::string(use.input ? "input " : "") + (use.output ? "output" : "");
  };
  constexpr std::size_t medium = std::size_t{1} << 20;
  constexpr std::size_t large = std::size_t{1} << 28;
  CHECK(windows(Collective::all_reduce, "two_shot", medium) == "input output");
  CHECK(windows(Collective::reduce_scatter, "one_shot", medium) == "input ");
  CHECK(windows(Collective::all_gather, "one_shot", medium) == "output");
  CHECK(windows(Collective::all_to_all, "linear", medium) == "output");
  // Sums read, which is slower than to send from some size on.
  CHECK(windows(Collective::all_reduce, "two_shot", large).empty());
  CHECK(windows(Collective::all_gather, "one_shot", large) == "output");
  // Packets are faster for short messages.
  CHECK(windows(Collective::all_gather, "one_shot", 1000).empty());
  // In place it would be wrong, it has partial sums, it has too many stages, or its root's may lie anywhere.
  CHECK(windows(Collective::all_reduce, "one_shot", medium).empty());
  CHECK(windows(Collective::all_reduce, "ring", medium).empty());
  CHECK(windows(Collective::all_gather, "ring", medium).empty());
  CHECK(windows(Collective::broadcast, "one_shot", medium).empty());
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
    CHECK(programs.has_room_for({composition, 0}) == (made < most_programs));
    if (made == most_programs) break;
    CHECK_NOTHROW(programs.find({composition, 0}, [&](std::size_t number, const auto& program) {
      CHECK(number == made);
      CHECK(program.size() <= program_bytes);
    }));
    ++made;
    CHECK(programs.has_room_for({composition, 0}));
  }
  const Composition gather = find_composition(Collective::gather, "linear");
  for (int root = 1; programs.has_room_for({gather, root}); ++root, ++made)
    programs.find({gather, root}, [](auto, auto) {});
  CHECK(made == most_programs);
  CHECK(programs.has_room_for({gather, 0}));
}

TEST_CASE("a schedule that touches buffers at other offsets on each rank uses no windows") {
  // Rank 0 adds up rank 1's block, too. In windows it would store it to rank 1's output, which in place
  // lies at another offset than its own.
  const Scripts written = parse_scripts(
      {{"mine",
        "collective reduce_scatter\nalgorithm mine\nranks 2\n"
        "rank 0\n receive_reduce input[0] then from 1 into output[0]\n"
        " receive_reduce input[1] then from 1 into scratch0[1]\n send scratch0[1] to 1\n"
        "rank 1\n send input[0] to 0\n send input[1] to 0\n receive from 0 into output[1]\n"}});
  const Composition mine{.written = written.front()};
  const auto merged =
      merge(mine.build(around(2), 0), {.places = Places::buffers, .posted = Posted::sums});
  REQUIRE(merged);
  CHECK(std::ranges::any_of(merged->at(1).uses, &Use::stores));
  Programs programs(0, around(2), arena_shape(2, most_stripes));
  const Call call{
      .count = 1 << 20, .collective = Collective::reduce_scatter, .type = DataType::uint8};
  CHECK(programs.fits(mine, call));
  CHECK_FALSE(programs.windows_of(mine, call).any());
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
