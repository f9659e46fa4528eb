// Every type, operator, count, number of operands and misalignment, in place and out of place, on
// every instruction set of this machine, against the scalar specification.
#include "kernels/cpu/reduce.h"

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/kernels/buffers.h"

using namespace rondo;
using namespace rondo::testing;

namespace {

constexpr std::array<std::size_t, 13> counts{0, 1, 2, 3, 7, 15, 16, 17, 31, 63, 64, 65, 1000};
constexpr std::array<std::size_t, 5> operand_counts{1, 2, 3, 5, 8};
constexpr std::array<std::size_t, 3> offsets{0, 1, 13};

struct Case {
  DataType type;
  ReduceOperator op;
  std::size_t count;
  std::size_t operand_count;
  std::size_t offset;
};

/// Elements that differ from the specification, out of place and onto each end of the operands.
template <class E>
std::size_t wrong_elements(const Case& c, std::mt19937& random) {
  const std::size_t bytes = c.count * sizeof(typename E::Storage);
  std::vector<Buffer> operands;
  for (std::size_t j = 0; j < c.operand_count; ++j) {
    // A vector that is moved keeps its memory, so the pointer into it stays right.
    operands.emplace_back(bytes, c.offset * (j + 1) % 64);
    fill<E>(operands.back(), random);
  }
  std::vector<const void*> pointers;
  for (const Buffer& operand : operands) pointers.push_back(operand.data);
  const std::vector<std::byte> expected = specification<E>(c.op, operands);

  Buffer output(bytes, c.offset);
  reduce(c.type, c.op, output.data, pointers, c.count);
  std::size_t wrong = count_wrong<E>(expected, output);
  const std::vector<std::byte> first(operands[0].data, operands[0].data + bytes);
  reduce(c.type, c.op, operands.back().data, pointers, c.count);
  wrong += count_wrong<E>(expected, operands.back());
  if (c.operand_count == 1) return wrong;
  // The last operand now holds the result; reduce again onto the first.
  const std::vector<std::byte> again = specification<E>(c.op, operands);
  reduce(c.type, c.op, operands.front().data, pointers, c.count);
  return wrong + count_wrong<E>(again, operands.front());
}

/// Elements of a reduction of two operands that are not as specified.
std::size_t wrong_pairs(DataType type, ReduceOperator op, const std::byte* left,
                        const std::byte* right, std::size_t count) {
  return with_element(type, [&]<class E>(E) {
    constexpr std::size_t bytes = sizeof(typename E::Storage);
    std::vector<std::byte> got(count * bytes);
    reduce(type, op, got.data(), std::array<const void*, 2>{left, right}, count);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < got.size(); at += bytes) {
      std::array<std::byte, 8> expected{};  // the widest element
      E::store(expected.data(),
               combine<typename E::Work>(op, E::load(left + at), E::load(right + at)));
      wrong += !same_element<E>(expected.data(), got.data() + at);
    }
    return wrong;
  });
}

}  // namespace

TEST_CASE("every reduction equals its scalar specification", "[reduce]") {
  std::set<std::string> names;
  for (const std::int64_t target : targets()) {
    const OnTarget on_target(target);
    names.insert(std::string(reduce_target()));
    for (const DataTypeInfo& type : data_types) {
      for (const ReduceOperatorInfo& op : reduce_operators) {
        if (!applies_to(op.op, type.type)) continue;
        INFO(reduce_target() << " " << type.name << " " << op.name);
        std::mt19937 random(1);
        std::string wrong;
        for (const std::size_t count : counts) {
          for (const std::size_t operand_count : operand_counts) {
            for (const std::size_t offset : offsets) {
              const Case c{type.type, op.op, count, operand_count, offset};
              const std::size_t elements = with_element(
                  type.type, [&](auto e) { return wrong_elements<decltype(e)>(c, random); });
              if (elements == 0) continue;
              wrong += "\n" + std::to_string(elements) + " of count " + std::to_string(count) +
                       ", operands " + std::to_string(operand_count) + ", offset " +
                       std::to_string(offset);
            }
          }
        }
        CHECK(wrong == "");
      }
    }
  }
  CHECK(names.size() == targets().size());
}

TEST_CASE("every pair of 8-bit codes combines as specified", "[reduce]") {
  std::vector<std::byte> left(65536), right(65536);
  for (std::size_t i = 0; i < 65536; ++i) {
    left[i] = static_cast<std::byte>(i % 256);
    right[i] = static_cast<std::byte>(i / 256);
  }
  for (const std::int64_t target : targets()) {
    const OnTarget on_target(target);
    for (const DataTypeInfo& type : data_types) {
      if (type.bytes != 1) continue;
      for (const ReduceOperatorInfo& op : reduce_operators) {
        if (!applies_to(op.op, type.type)) continue;
        INFO(reduce_target() << " " << type.name << " " << op.name);
        CHECK(wrong_pairs(type.type, op.op, left.data(), right.data(), 65536) == 0);
      }
    }
  }
}

TEST_CASE("16-bit floats: every code, added to zero and to other codes", "[reduce]") {
  std::vector<std::uint16_t> left(65536), right(65536);
  for (std::size_t i = 0; i < 65536; ++i) left[i] = static_cast<std::uint16_t>(i);
  for (const std::int64_t target : targets()) {
    const OnTarget on_target(target);
    for (const DataType type : {DataType::float16, DataType::bfloat16}) {
      for (const unsigned shift : {0u, 0x8000u, 0x0400u, 0x1234u, 0x57ffu}) {
        INFO(reduce_target() << " " << name(type) << " + rotated by " << shift);
        for (std::size_t i = 0; i < 65536; ++i)
          right[i] = shift == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(i + shift);
        CHECK(wrong_pairs(type, ReduceOperator::sum,
                          reinterpret_cast<const std::byte*>(left.data()),
                          reinterpret_cast<const std::byte*>(right.data()), 65536) == 0);
      }
    }
  }
}

TEST_CASE("a sum of small floats is rounded once, at its end", "[reduce]") {
  const std::uint16_t one = float_to_bfloat16(1.0f);
  const std::uint16_t half_step = float_to_bfloat16(0.00390625f);  // 2^-8: a tie, beside 1
  const std::array<const void*, 3> operands{&one, &half_step, &half_step};
  std::uint16_t sum = 0;
  reduce(DataType::bfloat16, ReduceOperator::sum, &sum, operands, 1);
  CHECK(bfloat16_to_float(sum) == 1.0078125f);
}

TEST_CASE("a NaN operand gives NaN, on either side and for every operator", "[reduce]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const ReduceOperatorInfo& op : reduce_operators) {
    if (op.bitwise) continue;
    for (const auto& pair : {std::array{nan, 1.0}, std::array{1.0, nan}}) {
      std::vector<double> left(33, pair[0]), right(33, pair[1]), got(33);
      const std::array<const void*, 2> operands{left.data(), right.data()};
      reduce(DataType::float64, op.op, got.data(), operands, got.size());
      for (const double value : got) CHECK(std::isnan(value));
    }
  }
}

TEST_CASE("scale multiplies floats and copies integers", "[reduce]") {
  for (const std::int64_t target : targets()) {
    const OnTarget on_target(target);
    for (const DataTypeInfo& type : data_types) {
      for (const std::size_t count : counts) {
        for (const double factor : {1.0 / 3, 0.25, -7.0}) {
          INFO(reduce_target() << " " << type.name << " count " << count << " x " << factor);
          const std::size_t wrong = with_element(type.type, [&](auto e) {
            using E = decltype(e);
            using Work = typename E::Work;
            std::mt19937 random(2);
            Buffer input(count * type.bytes, 1), output(count * type.bytes, 5);
            fill<E>(input, random);
            std::vector<std::byte> expected(input.data, input.data + input.size);
            if constexpr (std::is_floating_point_v<Work>) {
              for (std::size_t at = 0; at < expected.size(); at += type.bytes) {
                E::store(&expected[at], E::load(input.data + at) * static_cast<Work>(factor));
              }
            }
            scale(type.type, output.data, input.data, factor, count);
            scale(type.type, input.data, input.data, factor, count);
            return count_wrong<E>(expected, output) + count_wrong<E>(expected, input);
          });
          CHECK(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("divide truncates integers towards zero and leaves floats alone", "[reduce]") {
  for (const DataTypeInfo& type : data_types) {
    for (const std::size_t divisor : {std::size_t{1}, std::size_t{2}, std::size_t{3},
                                      std::size_t{7}, std::size_t{128}, std::size_t{1000003}}) {
      INFO(type.name << " / " << divisor);
      const std::size_t wrong = with_element(type.type, [&](auto e) {
        using E = decltype(e);
        using Work = typename E::Work;
        std::mt19937 random(3);
        Buffer values(1000 * type.bytes, 3);
        fill<E>(values, random);
        if constexpr (!std::is_floating_point_v<Work>) {
          E::store(values.data, std::numeric_limits<Work>::min());
          E::store(values.data + type.bytes, std::numeric_limits<Work>::max());
        }
        std::vector<std::byte> expected(values.data, values.data + values.size);
        if constexpr (!std::is_floating_point_v<Work>) {
          using Wide = std::conditional_t<std::is_signed_v<Work>, std::int64_t, std::uint64_t>;
          for (std::size_t at = 0; at < expected.size(); at += type.bytes) {
            const auto value = static_cast<Wide>(E::load(&expected[at]));
            E::store(&expected[at], static_cast<Work>(value / static_cast<Wide>(divisor)));
          }
        }
        divide(type.type, values.data, divisor, 1000);
        return count_wrong<E>(expected, values);
      });
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("what cannot be reduced is refused", "[reduce]") {
  float value = 1;
  const std::array<const void*, 2> operands{&value, &value};
  CHECK_THROWS_AS(reduce(DataType::float32, ReduceOperator::sum, &value, {}, 1), Error);
  CHECK_THROWS_AS(reduce(static_cast<DataType>(99), ReduceOperator::sum, &value, operands, 1),
                  Error);
  CHECK_THROWS_AS(reduce(DataType::float32, static_cast<ReduceOperator>(99), &value, operands, 1),
                  Error);
  CHECK_THROWS_AS(divide(DataType::int32, &value, 0, 1), Error);
  CHECK(value == 1);
}

TEST_CASE("operators on bits are refused for anything but integers", "[reduce]") {
  int refused = 0;
  for (const DataTypeInfo& type : data_types) {
    for (const ReduceOperatorInfo& op : reduce_operators) {
      INFO(type.name << " " << op.name);
      const Combination how{.type = type.type, .op = op.op};
      if (applies_to(op.op, type.type)) {
        CHECK(obstacle(op.op, type.type).empty());
        CHECK_NOTHROW(ReductionKernel(how));
        continue;
      }
      ++refused;
      CHECK_THROWS_WITH(ReductionKernel(how), Catch::Contains(std::string(op.name)) &&
                                                  Catch::Contains(std::string(type.name)));
    }
  }
  CHECK(refused == 3 * 6);
}
