// Which form a call takes.
#include "core/resident/form.h"

#include "kernels/device/sizes.h"
#include "rondo/error.h"
#include "tests/catch.h"

namespace rondo::resident {
namespace {

using device::SmallAlgorithm;

constexpr std::size_t MiB = std::size_t{1} << 20;

Choice choose(const Call& call, int ranks, std::string_view algorithm = {}) {
  return resident::choose(call, {.ranks = ranks, .one_machine = true, .direct = true},
                          AlgorithmSelection(algorithm, "a test"));
}

Call call(Collective collective, std::size_t bytes) {
  return {.count = bytes, .collective = collective, .type = DataType::uint8};
}

TEST_CASE("small all-reduces are one-shot until two trips with less data are faster") {
  struct Row {
    int ranks;
    std::size_t bytes;
    Form form;
    SmallAlgorithm algorithm;
    std::uint32_t stripes;
  };
  constexpr std::size_t KiB = 1024;
  const auto row = GENERATE(values<Row>({
      {2, 1, Form::small, SmallAlgorithm::one_shot, 1},
      {2, 4 * KiB, Form::small, SmallAlgorithm::one_shot, 1},
      {2, 4 * KiB + 1, Form::small, SmallAlgorithm::one_shot, 2},
      {2, 32 * KiB, Form::small, SmallAlgorithm::one_shot, 8},
      {2, 32 * KiB + 1, Form::small, SmallAlgorithm::two_shot, 5},
      {2, 64 * KiB, Form::small, SmallAlgorithm::two_shot, 8},
      {2, 64 * KiB + 1, Form::program, SmallAlgorithm::one_shot, 1},
      {4, 32 * KiB, Form::small, SmallAlgorithm::one_shot, 8},
      {8, 24 * KiB, Form::small, SmallAlgorithm::one_shot, 6},
      {8, 25 * KiB, Form::small, SmallAlgorithm::two_shot, 1},
      {8, 256 * KiB, Form::small, SmallAlgorithm::two_shot, 8},
      {8, 512 * KiB, Form::program, SmallAlgorithm::one_shot, 1},
      {17, 544 * KiB, Form::small, SmallAlgorithm::two_shot, 8},
      {17, 544 * KiB + 1, Form::program, SmallAlgorithm::one_shot, 1},
  }));
  const Choice choice = choose(call(Collective::all_reduce, row.bytes), row.ranks);
  INFO(row.ranks << " ranks, " << row.bytes << " bytes");
  CHECK(choice.form == row.form);
  CHECK(choice.small == row.algorithm);
  CHECK(choice.stripes == row.stripes);
}

TEST_CASE("a small all-reduce fits its mailboxes, whatever its type and size") {
  const int ranks = GENERATE(2, 3, 7, 32);
  for (const auto& type : data_types) {
    for (std::size_t bytes = type.bytes; bytes <= MiB; bytes += 4000 + type.bytes) {
      Call small = call(Collective::all_reduce, bytes / type.bytes);
      small.type = type.type;
      const Choice choice = choose(small, ranks);
      if (choice.form != Form::small) continue;
      REQUIRE(choice.stripes <= most_small_stripes);
      REQUIRE(small.count * type.bytes <=
              small_capacity(arena_shape(ranks, 8), choice.small, choice.stripes));
    }
  }
}

TEST_CASE("calls of every size are programs, but those that differ in blocks or numbers") {
  CHECK(choose(call(Collective::broadcast, 1), 4).form == Form::program);
  CHECK(choose(call(Collective::all_gather, MiB << 10), 32).form == Form::program);
  Call ragged = call(Collective::all_gather, MiB);
  ragged.blocks = 17;
  CHECK(choose(ragged, 4).form == Form::finite);
  Call wide = call(Collective::reduce, MiB);
  wide.type = wide.accumulate = DataType::float32;
  CHECK(choose(wide, 4).form == Form::program);
  wide.accumulate = DataType::float64;
  CHECK(choose(wide, 4).form == Form::finite);
}

TEST_CASE("averages are divided where all contributions are added at once") {
  Call average = call(Collective::all_reduce, MiB);
  average.op = ReduceOperator::avg;
  CHECK(choose(average, 4).form == Form::program);
  CHECK(choose(average, 4, "ring").form == Form::finite);
  average.type = average.accumulate = DataType::float16;
  CHECK(choose(average, 4, "ring").form == Form::program);
}

TEST_CASE("RONDO_ALGORITHM holds on devices") {
  const Call small = call(Collective::all_reduce, 1024);
  const Call large = call(Collective::all_reduce, MiB);
  CHECK(choose(large, 4).composition.name() == "two_shot");
  CHECK(choose(large, 4, "direct").composition.name() == "two_shot");
  CHECK(choose(large, 4, "ring").composition.name() == "ring");
  CHECK(choose(large, 4, "all_gather:ring").composition.name() == "two_shot");
  CHECK(choose(large, 4, "^ring").composition.name() == "two_shot");
  CHECK(choose(large, 4, "^two_shot,direct").composition.name() != "two_shot");
  CHECK(choose(small, 4, "ring").form == Form::program);
  CHECK(choose(small, 4, "ring").composition.name() == "ring");
  CHECK(choose(small, 4, "two_shot").small == SmallAlgorithm::two_shot);
  CHECK(choose(small, 4, "one_shot").form == Form::small);
  Call exact = large;
  exact.type = exact.accumulate = DataType::float32;
  exact.reproducible = true;
  CHECK_THROWS_AS(choose(exact, 4, "ring"), Error);
}

TEST_CASE("paths without programs take calls for which nothing else is named") {
  const auto allows = [](Collective collective, const char* names) {
    const Topology around{.ranks = 4, .one_machine = true, .direct = true};
    return allows_default(call(collective, MiB), {}, around,
                          AlgorithmSelection(names, "the algorithm"));
  };
  for (const char* const names :
       {"", "one_shot", "two_shot", "direct", "^ring", "ring,two_shot", "all_gather:ring"})
    CHECK(allows(Collective::all_reduce, names));
  for (const char* const names : {"ring", "^one_shot,two_shot,direct"})
    CHECK_FALSE(allows(Collective::all_reduce, names));
  CHECK_FALSE(allows(Collective::all_gather, "all_gather:ring"));
  CHECK(allows(Collective::all_to_all, "all_to_all:linear"));
}

TEST_CASE("a schedule of the user's is a program on devices") {
  const AlgorithmSelection selection(
      "", "the algorithm",
      parse_scripts({{"mine", "collective all_reduce\nalgorithm mine\nranks 4\nrank r\n"}}));
  const auto chosen = [&](const Call& call, int ranks) {
    return resident::choose(call, {.ranks = ranks, .one_machine = true, .direct = true}, selection);
  };
  Call small = call(Collective::all_reduce, 4);
  CHECK(chosen(small, 4).form == Form::program);
  CHECK(chosen(small, 4).composition.name() == "mine");
  CHECK(chosen(small, 2).form == Form::small);
  CHECK(chosen(call(Collective::all_gather, 4), 4).composition.name() == "one_shot");
  small.type = small.accumulate = DataType::float32;
  small.reproducible = true;
  CHECK(chosen(small, 4).form == Form::small);
  small = call(Collective::all_reduce, 4);
  small.op = ReduceOperator::avg;
  CHECK(chosen(small, 4).form == Form::finite);
}

TEST_CASE("the device memory that a rank maps is bounded") {
  for (int ranks = 2; ranks <= 32; ++ranks) {
    for (const std::uint32_t stripes : stripe_counts) {
      const device::ArenaShape shape = arena_shape(ranks, stripes);
      CHECK_NOTHROW(device::check(shape));
      CHECK(device::ArenaPlaces(shape).bytes() < (ranks <= 8 ? 39 : 57) * MiB);
      CHECK(device::ArenaPlaces(shape).frames(0) % 16 == 0);
      CHECK(scratch_bytes(shape) <= 8 * MiB);
    }
  }
}

}  // namespace
}  // namespace rondo::resident
