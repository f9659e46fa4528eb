// What a reduction in the order of ranks must give, bit by bit: contributions folded one by one in
// the type that they are accumulated in, rounded once.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "rondo/types.h"
#include "tests/kernels/elements.h"

namespace rondo::test {

using ByteVector = std::vector<std::byte>;

/// The values to reduce, and the type to add them in.
struct Numbers {
  DataType type = DataType::float32;
  DataType accumulate = type;
  ReduceOperator op = ReduceOperator::sum;

  std::string words() const {
    return std::string(name(op)) + " of " + std::string(name(type)) + " in " +
           std::string(name(accumulate));
  }
  Reduction reduction() const { return {op, accumulate, accumulate == type}; }
};

inline std::vector<Numbers> all_numbers() {
  std::vector<Numbers> all;
  for (const DataTypeInfo& type : data_types) {
    if (!is_float(type.type)) continue;
    for (const ReduceOperator op :
         {ReduceOperator::sum, ReduceOperator::prod, ReduceOperator::avg, ReduceOperator::min}) {
      all.push_back({type.type, type.type, op});
      if (const auto wide = wide_type(type.type)) all.push_back({type.type, *wide, op});
    }
  }
  return all;
}

/// Values whose magnitudes differ so much that the order of additions shows; factors near 1.
template <class E>
ByteVector random_elements(std::size_t count, ReduceOperator op, std::mt19937& random) {
  using Storage = typename E::Storage;
  ByteVector made(count * sizeof(Storage));
  const int spread = op == ReduceOperator::prod ? 1 : sizeof(Storage) > 1 ? 10 : 4;
  for (std::size_t i = 0; i < count; ++i) {
    const double mantissa = 1 + static_cast<double>(random() % 1000003) / 1000003;
    const double sign = random() % 2 == 0 ? 1 : -1;
    const int exponent = static_cast<int>(random() % static_cast<unsigned>(2 * spread)) - spread;
    E::store(made.data() + i * sizeof(Storage),
             static_cast<typename E::Work>(sign * std::ldexp(mantissa, exponent)));
  }
  return made;
}

/// Every rank's input, and what a whole all-reduce of them must give.
struct Problem {
  Numbers numbers{};
  std::vector<ByteVector> inputs{};
  ByteVector expected{};
};

template <class E>
void solve(Problem& problem, std::size_t count) {
  using Work = typename E::Work;
  const ReduceOperator op = problem.numbers.op;
  const auto ranks = problem.inputs.size();
  const std::size_t bytes = sizeof(typename E::Storage);
  problem.expected.resize(count * bytes);
  for (std::size_t at = 0; at < count * bytes; at += bytes) {
    Work work = E::load(problem.inputs[0].data() + at);
    for (std::size_t rank = 1; rank < ranks; ++rank)
      work = testing::combine<Work>(op, work, E::load(problem.inputs[rank].data() + at));
    if (op == ReduceOperator::avg) work *= static_cast<Work>(1.0 / static_cast<double>(ranks));
    E::store(problem.expected.data() + at, work);
  }
}

inline Problem make_problem(const Numbers& numbers, int ranks, std::size_t count) {
  Problem problem{.numbers = numbers};
  std::mt19937 random(static_cast<unsigned>(count) + static_cast<unsigned>(numbers.type) * 977);
  testing::with_element(numbers.type, numbers.accumulate, [&](auto element) {
    using E = decltype(element);
    for (int rank = 0; rank < ranks; ++rank)
      problem.inputs.push_back(random_elements<E>(count, numbers.op, random));
    solve<E>(problem, count);
  });
  return problem;
}

}  // namespace rondo::test
