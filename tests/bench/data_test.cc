// Verification data: its reduction is the same in every order, rounded at every hop.
#include "bench/common/data.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "bench/common/floats.h"
#include "kernels/cpu/reduce.h"
#include "tests/catch.h"

using namespace rondo;
using namespace rondo::bench;

namespace {

constexpr std::size_t elements = 97;

/// A double rounded to the wire type, as every hop does.
double round_to(DataType type, double value) {
  if (type == DataType::float64) return value;
  if (type == DataType::float32) return static_cast<float>(value);
  return decode_narrow(type, encode_narrow(type, value));
}

double apply(ReduceOperator op, double a, double b) {
  switch (op) {
    case ReduceOperator::prod:
      return a * b;
    case ReduceOperator::min:
      return std::min(a, b);
    case ReduceOperator::max:
      return std::max(a, b);
    default:
      return a + b;
  }
}

std::vector<std::byte> bytes_of(DataType type, double value) {
  std::vector<std::byte> bytes(size_of(type));
  if (type == DataType::float64) {
    std::memcpy(bytes.data(), &value, bytes.size());
  } else if (type == DataType::float32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(bytes.data(), &narrow, bytes.size());
  } else {
    const std::uint16_t bits = encode_narrow(type, value);
    std::memcpy(bytes.data(), &bits, bytes.size());
  }
  return bytes;
}

/// The reduction of element `index` over the ranks in `order`, hop by hop in the wire type.
double reduce_in_order(const Pattern& pattern, ReduceOperator op, const std::vector<int>& order,
                       std::size_t index) {
  const DataType type = pattern.type();
  const auto contribution = [&](int rank) {
    const auto value = static_cast<double>(pattern.value(rank, index));
    if (op != ReduceOperator::avg) return value;
    return round_to(type, value / static_cast<double>(order.size()));
  };
  double result = contribution(order.front());
  for (std::size_t k = 1; k < order.size(); ++k) {
    result = round_to(type, apply(op, result, contribution(order[k])));
  }
  return result;
}

std::size_t wrong_in_order(const Pattern& pattern, ReduceOperator op, const std::vector<int>& order,
                           const std::vector<std::byte>& expected) {
  const std::size_t width = size_of(pattern.type());
  std::size_t wrong = 0;
  for (std::size_t index = 0; index < elements; ++index) {
    const auto actual = bytes_of(pattern.type(), reduce_in_order(pattern, op, order, index));
    wrong += count_wrong(pattern.type(), actual.data(), expected.data() + index * width, 1,
                         pattern.tolerance());
  }
  return wrong;
}

/// Bytes of the reduction that are not the kernels'.
std::size_t wrong_integers_of(DataType type, ReduceOperator op, int ranks) {
  const Pattern pattern(type, op, true, ranks, 5);
  const std::size_t bytes = elements * size_of(type);
  std::vector<std::vector<std::byte>> inputs;
  std::vector<const void*> operands;
  for (int rank = 0; rank < ranks; ++rank) {
    inputs.emplace_back(bytes);
    pattern.fill_input(inputs.back().data(), rank, 0, elements);
  }
  for (const auto& input : inputs) operands.push_back(input.data());
  std::vector<std::byte> expected(bytes);
  std::vector<std::byte> reduced(bytes);
  pattern.fill_reduced(expected.data(), 0, elements, ranks);
  reduce(type, op, reduced.data(), operands, elements);
  if (op == ReduceOperator::avg)
    divide(type, reduced.data(), static_cast<std::size_t>(ranks), elements);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes; ++i) wrong += expected[i] != reduced[i];
  return wrong;
}

}  // namespace

TEST_CASE("reductions of the data are exact in any order, for every type, operator and ranks") {
  const int ranks = GENERATE(1, 2, 3, 4, 7, 8, 16, 17, 33, 64, 100);
  std::mt19937 random(7);
  for (const auto& type : data_types) {
    for (const auto& op : reduce_operators) {
      if (!applies_to(op.op, type.type)) continue;
      CAPTURE(ranks, type.name, op.name);
      if (!is_float(type.type)) {
        CHECK(wrong_integers_of(type.type, op.op, ranks) == 0);
        continue;
      }
      const Pattern pattern(type.type, op.op, true, ranks, 3);
      std::vector<std::byte> expected(elements * type.bytes);
      pattern.fill_reduced(expected.data(), 0, elements, ranks);
      std::vector<int> order(static_cast<std::size_t>(ranks));
      std::iota(order.begin(), order.end(), 0);
      CHECK(wrong_in_order(pattern, op.op, order, expected) == 0);
      std::reverse(order.begin(), order.end());
      CHECK(wrong_in_order(pattern, op.op, order, expected) == 0);
      std::shuffle(order.begin(), order.end(), random);
      CHECK(wrong_in_order(pattern, op.op, order, expected) == 0);
    }
  }
}

TEST_CASE("inputs hold what value() says, wherever a fill starts") {
  for (const auto& type : data_types) {
    const Pattern pattern(type.type, ReduceOperator::sum, true, 4, 9);
    std::vector<std::byte> whole(elements * type.bytes);
    std::vector<std::byte> tail((elements - 13) * type.bytes);
    pattern.fill_input(whole.data(), 2, 0, elements);
    pattern.fill_input(tail.data(), 2, 13, elements - 13);
    CAPTURE(type.name);
    CHECK(std::memcmp(whole.data() + 13 * type.bytes, tail.data(), tail.size()) == 0);
  }
}

TEST_CASE("ranks, seeds and places differ, and no input is all zero") {
  for (const auto& type : data_types) {
    const Pattern first(type.type, ReduceOperator::sum, true, 4, 1);
    const Pattern second(type.type, ReduceOperator::sum, true, 4, 2);
    const auto drawn = [&](const Pattern& pattern, int rank, std::size_t start) {
      std::vector<std::byte> bytes(elements * type.bytes);
      pattern.fill_input(bytes.data(), rank, start, elements);
      return bytes;
    };
    CAPTURE(type.name);
    const auto base = drawn(first, 0, 0);
    CHECK(base != drawn(first, 1, 0));
    CHECK(base != drawn(first, 0, elements));
    CHECK(base != drawn(second, 0, 0));
    CHECK(base != std::vector<std::byte>(base.size()));
  }
}

TEST_CASE("a lost, doubled or swapped contribution changes the result") {
  for (const auto& type : data_types) {
    for (const int ranks : {2, 4, 33}) {
      const Pattern pattern(type.type, ReduceOperator::sum, true, ranks, 1);
      std::size_t contributing = 0;
      for (std::size_t index = 0; index < 200; ++index)
        contributing += pattern.value(1, index) != 0;
      CAPTURE(type.name, ranks);
      CHECK(contributing > 20);
    }
  }
}

TEST_CASE("a lost contribution changes bits of the result of many ranks") {
  for (const auto& op : reduce_operators) {
    if (!op.bitwise) continue;
    for (const int ranks : {2, 4, 33}) {
      const Pattern pattern(DataType::uint32, op.op, true, ranks, 1);
      std::size_t changed = 0;
      for (std::size_t index = 0; index < 200; ++index) {
        std::uint64_t all = op.op == ReduceOperator::bit_and ? ~0U : 0U;
        for (int rank = 0; rank < ranks; ++rank) {
          const auto value = static_cast<std::uint64_t>(pattern.value(rank, index));
          if (rank == 1) continue;
          if (op.op == ReduceOperator::bit_and) all &= value;
          if (op.op == ReduceOperator::bit_or) all |= value;
          if (op.op == ReduceOperator::bit_xor) all ^= value;
        }
        changed += all != static_cast<std::uint64_t>(pattern.reduced_value(index, ranks));
      }
      CAPTURE(op.name, ranks);
      CHECK(changed >= std::size_t{200} / static_cast<std::size_t>(ranks));
    }
  }
}

TEST_CASE("count_wrong counts elements that differ by more than the tolerance") {
  const std::vector<float> expected{1.0F, 2.0F, 3.0F};
  std::vector<float> actual = expected;
  CHECK(count_wrong(DataType::float32, actual.data(), expected.data(), 3, 0) == 0);
  actual[1] = std::nextafter(std::nextafter(2.0F, 3.0F), 3.0F);
  CHECK(count_wrong(DataType::float32, actual.data(), expected.data(), 3, 0) == 1);
  CHECK(count_wrong(DataType::float32, actual.data(), expected.data(), 3, 2) == 0);
  actual[2] = -3.0F;
  CHECK(count_wrong(DataType::float32, actual.data(), expected.data(), 3, 2) == 1);
}
