// Sums of 8-bit numbers: how far off, how many bytes, the same bits on every rank.
#include "rondo/quantized.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::error_of;
using test::expect;
using test::expect_that;
using test::with_world;

std::vector<float> values_of(int rank, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) * 7919 + static_cast<unsigned>(count));
  std::normal_distribution<float> normal;
  std::vector<float> made(count);
  for (float& value : made) value = normal(random);
  return made;
}

/// Root mean square of the differences from the exact sums, relative to theirs.
double error_of_sums(const std::vector<float>& got, int ranks) {
  std::vector<double> exact(got.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> values = values_of(rank, got.size());
    for (std::size_t i = 0; i < got.size(); ++i) exact[i] += static_cast<double>(values[i]);
  }
  double differences = 0;
  double sums = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    differences += std::pow(static_cast<double>(got[i]) - exact[i], 2);
    sums += exact[i] * exact[i];
  }
  return got.empty() ? 0 : std::sqrt(differences / sums);
}

TEST_CASE("sums of 8-bit numbers are little off, and the same bits on every rank") {
  for (const char* const transport : {"local", "shm", "tcp"}) {
    for (const int ranks : test::cells<int>({1, 2, 3, 8}, {3})) {
      with_world(ranks, {.transport = transport}, [&](Communicator& world) {
        for (const std::size_t count : {0, 1, 127, 128, 129, 10'000, 300'001}) {
          std::vector<float> values = values_of(world.rank(), count);
          all_reduce_quantized(world, values);
          expect_that(error_of_sums(values, ranks) < 0.015, std::to_string(count) + " values");
          std::vector<float> of_rank_0 = values;
          world.broadcast(of_rank_0, 0);
          expect_that(count == 0 || std::memcmp(of_rank_0.data(), values.data(), 4 * count) == 0,
                      "the ranks' bits differ");
        }
      });
    }
  }
}

TEST_CASE("what one call leaves out, the next ones make good") {
  with_world(2, {}, [](Communicator& world) {
    const std::vector<float> own = values_of(world.rank(), 300'001);
    std::vector<float> left_out(own.size());
    std::vector<float> mean(own.size());
    for (int call = 0; call < 20; ++call) {
      std::vector<float> values = own;
      all_reduce_quantized(world, values, left_out);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += values[i] / 20;
    }
    expect_that(error_of_sums(mean, 2) < 0.004, "the mean of calls that make errors good");
  });
}

TEST_CASE("in a group the sums are there on return, and calls before keep their order") {
  with_world(3, {}, [](Communicator& world) {
    std::vector<float> values = values_of(world.rank(), 300'001);
    int ranks = 1;
    Group group;
    world.all_reduce(ranks);
    all_reduce_quantized(world, values);
    expect_that(error_of_sums(values, 3) < 0.015, "in the group");
    group.wait();
    expect_that(ranks == 3, "the group's own call");
  });
}

TEST_CASE("8-bit numbers take about a quarter of the bytes") {
  with_world(4, {.transport = "tcp", .algorithm = "all_reduce:two_shot"}, [](Communicator& world) {
    std::vector<float> values = values_of(world.rank(), 1 << 18);
    const Traffic before = world.traffic();
    world.all_reduce(values);
    const Traffic between = world.traffic();
    all_reduce_quantized(world, values);
    const auto usual = static_cast<double>((between - before).payload_bytes);
    const auto quantized = static_cast<double>((world.traffic() - between).payload_bytes);
    expect_that(quantized < 0.27 * usual,
                std::to_string(quantized) + " of " + std::to_string(usual));
  });
}

TEST_CASE("a value is off by half a unit at most, and its block says so where it is none") {
  std::vector<float> values = values_of(1, 300);
  values[200] = std::numeric_limits<float>::infinity();
  std::vector<QuantizedBlock> blocks(quantized_blocks(values.size()));
  quantize(values, blocks);
  std::vector<float> back(values.size());
  dequantize(blocks, back);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const QuantizedBlock& block = blocks[i / values_in_a_block];
    if (i / values_in_a_block == 1)
      CHECK(std::isnan(back[i]));
    else
      CHECK(std::fabs(back[i] - values[i]) <= block.unit * 0.5001F);
  }
  const std::vector<float> tiny(5, std::numeric_limits<float>::denorm_min());
  std::vector<QuantizedBlock> one(1);
  quantize(tiny, one);
  std::vector<float> nothing(5, 1.0F);
  dequantize(one, nothing);
  CHECK(nothing == std::vector<float>(5));
}

TEST_CASE(
    "other numbers of blocks than the values need are refused, and rings as they keep no order") {
  std::vector<float> values(129);
  std::vector<QuantizedBlock> blocks(1);
  expect(error_of([&] { quantize(values, blocks); }), ErrorCode::invalid_argument,
         "1 blocks for 129 values, needs 2");
  expect(error_of([&] { dequantize(blocks, values); }), ErrorCode::invalid_argument, "needs 2");
  blocks.resize(2);
  expect(error_of([&] { quantize(values, blocks, std::span(values).first(128)); }),
         ErrorCode::invalid_argument, "left_out has 128 numbers for 129 values");
  expect(error_of([&] { quantize(values, blocks, values); }), ErrorCode::invalid_argument,
         "left_out overlaps the values");
  with_world(2, {.algorithm = "all_reduce:ring"}, [](Communicator& world) {
    std::vector<float> some(10);
    expect(error_of([&] { all_reduce_quantized(world, some); }), ErrorCode::configuration,
           "loses something each time");
  });
}

}  // namespace
}  // namespace rondo
