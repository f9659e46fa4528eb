// Real bytes moved by a schedule, against results computed directly.
#include "core/schedule/reference.h"

#include <cstring>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/schedule/handmade.h"

using namespace rondo;
using handmade::listed;

namespace {

template <class T>
void combine(ReduceOperator op, T* output, std::span<const void* const> operands,
             std::size_t count) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = static_cast<const T*>(operands[0])[i];
    for (const void* operand : operands.subspan(1)) {
      const T other = static_cast<const T*>(operand)[i];
      result[i] = op == ReduceOperator::max ? std::max(result[i], other)
                                            : static_cast<T>(result[i] + other);
    }
  }
  if (count > 0) std::memcpy(output, result.data(), count * sizeof(T));
}

/// int32 and float64 in plain C++: enough to check which contributions meet.
Arithmetic plain() {
  return {.reduce =
              [](DataType type, ReduceOperator op, void* output,
                 std::span<const void* const> operands, std::size_t count) {
                if (type == DataType::int32)
                  combine(op, static_cast<std::int32_t*>(output), operands, count);
                else
                  combine(op, static_cast<double*>(output), operands, count);
              },
          .scale =
              [](DataType type, void* output, const void* input, double factor, std::size_t count) {
                if (type != DataType::float64) return;
                for (std::size_t i = 0; i < count; ++i)
                  static_cast<double*>(output)[i] = static_cast<const double*>(input)[i] * factor;
              },
          .divide =
              [](DataType type, void* values, std::size_t divisor, std::size_t count) {
                if (type != DataType::int32) return;
                for (std::size_t i = 0; i < count; ++i)
                  static_cast<std::int32_t*>(values)[i] /= static_cast<std::int32_t>(divisor);
              }};
}

template <class T>
Bytes bytes(const std::vector<T>& values) {
  Bytes all(values.size() * sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), values.data(), all.size());
  return all;
}

template <class T>
std::vector<T> values(const Bytes& all) {
  std::vector<T> result(all.size() / sizeof(T));
  if (!all.empty()) std::memcpy(result.data(), all.data(), all.size());
  return result;
}

}  // namespace

TEST_CASE("a ring all-reduces what a loop would sum, for every size") {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (const std::size_t count : {0, 1, 2, 7, 8, 100, 1001})
      for (const ReduceOperator op :
           {ReduceOperator::sum, ReduceOperator::max, ReduceOperator::avg}) {
        std::vector<Bytes> inputs;
        std::vector<std::int32_t> wanted(count, op == ReduceOperator::max ? -1000000 : 0);
        for (int rank = 0; rank < ranks; ++rank) {
          std::vector<std::int32_t> own(count);
          for (std::size_t i = 0; i < count; ++i) {
            own[i] = static_cast<std::int32_t>(i * 31 % 97) * (rank + 1) - 50;
            wanted[i] =
                op == ReduceOperator::max ? std::max(wanted[i], own[i]) : wanted[i] + own[i];
          }
          inputs.push_back(bytes(own));
        }
        if (op == ReduceOperator::avg)
          for (std::int32_t& value : wanted) value /= ranks;
        const Schedule ring = handmade::ring(ranks);
        const Partition partition(ring.layout, count, 4);
        for (const Bytes& output : reference(ring, partition, DataType::int32, op, inputs, plain()))
          CHECK(values<std::int32_t>(output) == wanted);
      }
}

TEST_CASE("averages of floats scale the values that are read from the input") {
  const Schedule ring = handmade::ring(4);
  const Partition partition(ring.layout, 5, 8);
  const double most = 1.7e308;
  const std::vector<Bytes> inputs(4, bytes(std::vector<double>(5, most)));
  for (const Bytes& output :
       reference(ring, partition, DataType::float64, ReduceOperator::avg, inputs, plain()))
    CHECK(values<double>(output) == std::vector<double>(5, most));
}

TEST_CASE("ragged blocks, wrapping runs and buffers of one block") {
  // Rank 2 gets blocks 2, 0 and 1 from rank 1 in one message, which wraps after the last block.
  const Schedule all_gather =
      listed(Collective::all_gather, 1,
             {{copy(input(0), output(0)), send(1, input(0)), receive(1, output(1)),
               send(1, output(1)), receive(2, output(2)), send(1, output(2))},
              {copy(input(1), output(1)), receive(0, scratch(0, 0)), send(0, input(1)),
               receive(0, scratch(0, 1)), receive(0, scratch(0, 2)),
               copy(scratch(0, 2, 2), output(2, 2)), send(2, output(2, 3))},
              {send(0, input(2)), receive(1, output(2, 3))}});
  const Partition partition(all_gather.layout, std::vector<std::size_t>{3, 0, 2}, 4);
  const std::vector<Bytes> inputs{bytes<std::int32_t>({1, 2, 3}), {}, bytes<std::int32_t>({7, 8})};
  for (const Bytes& output :
       reference(all_gather, partition, DataType::int32, ReduceOperator::sum, inputs, plain()))
    CHECK(values<std::int32_t>(output) == std::vector<std::int32_t>{1, 2, 3, 7, 8});
}

TEST_CASE("operands are combined from left to right") {
  Arithmetic words = plain();
  std::vector<std::vector<int>> seen;
  words.reduce = [&](DataType, ReduceOperator, void* output, std::span<const void* const> operands,
                     std::size_t count) {
    seen.emplace_back();
    for (const void* operand : operands)
      seen.back().push_back(static_cast<int>(*static_cast<const std::byte*>(operand)));
    std::memcpy(output, operands[0], count);
  };
  const auto run_order = [&](Order order) {
    const Schedule schedule =
        listed(Collective::reduce, 1,
               {{receive_reduce(1, input(0), output(0), order)}, {send(0, input(0))}});
    reference(schedule, Partition(schedule.layout, 1, 1), DataType::uint8, ReduceOperator::sum,
              {{std::byte{10}}, {std::byte{11}}}, words);
  };
  run_order(Order::received_first);
  run_order(Order::local_first);
  CHECK(seen == std::vector<std::vector<int>>{{11, 10}, {10, 11}});
}

TEST_CASE("inputs of the wrong size are refused") {
  const Schedule ring = handmade::ring(2);
  const Partition partition(ring.layout, 4, 4);
  CHECK_THROWS_AS(reference(ring, partition, DataType::int32, ReduceOperator::sum,
                            {Bytes(16), Bytes(12)}, plain()),
                  Error);
  CHECK_THROWS_AS(
      reference(ring, partition, DataType::int32, ReduceOperator::sum, {Bytes(16)}, plain()),
      Error);
}
