// Which form a call takes.
#include "core/resident/form.h"

#include "tests/catch.h"

namespace rondo::resident {
namespace {

using device::SmallAlgorithm;

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
      {8, 512 * KiB + 1, Form::finite, SmallAlgorithm::one_shot, 1},
      {17, 544 * KiB, Form::small, SmallAlgorithm::two_shot, 8},
      {17, 544 * KiB + 1, Form::finite, SmallAlgorithm::one_shot, 1},
  }));
  const Choice choice = choose(call(Collective::all_reduce, row.bytes), row.ranks);
  INFO(row.ranks << " ranks, " << row.bytes << " bytes");
  CHECK(choice.form == row.form);
  CHECK(choice.algorithm == row.algorithm);
  CHECK(choice.stripes == row.stripes);
}

TEST_CASE("a small all-reduce fits its mailboxes, whatever its type and size") {
  const int ranks = GENERATE(2, 3, 7, 32);
  for (const auto& type : data_types) {
    for (std::size_t bytes = type.bytes; bytes <= most_held_bytes(ranks);
         bytes += 4000 + type.bytes) {
      Call small = call(Collective::all_reduce, bytes / type.bytes);
      small.type = type.type;
      const Choice choice = choose(small, ranks);
      if (choice.form != Form::small) continue;
      REQUIRE(choice.stripes <= most_stripes);
      REQUIRE(small.count * type.bytes <=
              small_capacity(arena_shape(ranks), choice.algorithm, choice.stripes));
    }
  }
}

TEST_CASE("a call's form depends on all its blocks, and on whether it averages") {
  CHECK(choose(call(Collective::broadcast, most_bytes), 4).form == Form::program);
  CHECK(choose(call(Collective::broadcast, most_bytes + 1), 4).form == Form::finite);
  CHECK(choose(call(Collective::all_gather, most_bytes / 4), 4).form == Form::program);
  CHECK(choose(call(Collective::all_gather, most_bytes / 4 + 1), 4).form == Form::finite);
  CHECK(choose(call(Collective::all_gather, ~std::size_t{0} / 2), 4).form == Form::finite);
  CHECK(choose(call(Collective::all_to_all, 1), most_program_ranks).form == Form::program);
  CHECK(choose(call(Collective::all_to_all, 1), most_program_ranks + 1).form == Form::finite);
  Call average = call(Collective::reduce_scatter, 100);
  average.op = ReduceOperator::avg;
  CHECK(choose(average, 4).form == Form::finite);
  average.collective = Collective::all_reduce;
  CHECK(choose(average, 4).form == Form::small);
  average.count = 200'000;
  CHECK(choose(average, 4).form == Form::finite);
  average.collective = Collective::broadcast;
  CHECK(choose(average, 4).form == Form::program);
}

TEST_CASE("the device memory that a rank maps is bounded") {
  CHECK(device::ArenaPlaces(arena_shape(8)).bytes() < std::size_t{8} << 20);
  CHECK(device::ArenaPlaces(arena_shape(32)).bytes() < std::size_t{32} << 20);
  for (int ranks = 2; ranks <= 32; ++ranks)
    CHECK(device::ArenaPlaces(arena_shape(ranks)).mailbox(0, 0, 0) % 16 == 0);
}

}  // namespace
}  // namespace rondo::resident
