// Several outputs, factors and streaming stores: every type, operator, number of operands and
// outputs, alignment and odd size, out of place and in place, against the scalar specification.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/reduce.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/kernels/buffers.h"
#include "tests/sanitizers.h"

using namespace rondo;
using namespace rondo::testing;

namespace {

constexpr std::array<std::size_t, 4> operand_counts{1, 2, 3, 8};
constexpr std::array<std::size_t, 4> output_counts{1, 2, 3, 4};
/// Bytes, rounded down to elements: less than a vector, less than a block, and several blocks with
/// an odd end.
constexpr std::array<std::size_t, 4> sizes{0, 15, 1001, 4133};

/// Where buffer j starts after a cache line: all on it, all equally off it, each elsewhere.
enum class Alignment { lines, congruent, mixed };
constexpr std::array alignments{Alignment::lines, Alignment::congruent, Alignment::mixed};

std::size_t offset_of(Alignment alignment, std::size_t j) {
  if (alignment == Alignment::lines) return 0;
  return alignment == Alignment::congruent ? 24 : (13 * j + 1) % 64;
}

struct Case {
  Combination how;
  std::size_t output_count;
  Alignment alignment;
  bool in_place;
};

template <class E>
std::vector<Buffer> random_operands(std::size_t operand_count, std::size_t count,
                                    Alignment alignment) {
  std::mt19937 random(1);
  std::vector<Buffer> operands;
  for (std::size_t j = 0; j < operand_count; ++j) {
    operands.emplace_back(count * sizeof(typename E::Storage), offset_of(alignment, j));
    fill<E>(operands.back(), random);
  }
  return operands;
}

/// Counts elements of outputs that are not as expected, and of other operands that have changed. In
/// place the last operands are the first outputs. The operands are restored afterwards.
template <class E>
std::size_t wrong_elements(const Case& c, std::vector<Buffer>& operands,
                           const std::vector<std::byte>& expected) {
  const std::size_t bytes = expected.size();
  std::vector<std::vector<std::byte>> before;
  std::vector<const void*> from;
  for (const Buffer& operand : operands) {
    before.emplace_back(operand.data, operand.data + bytes);
    from.push_back(operand.data);
  }
  std::vector<Buffer> others;
  std::vector<Buffer*> outputs;
  others.reserve(c.output_count);
  for (std::size_t j = 0; j < c.output_count; ++j) {
    if (c.in_place && j < operands.size()) {
      outputs.push_back(&operands[operands.size() - 1 - j]);
    } else {
      outputs.push_back(&others.emplace_back(bytes, offset_of(c.alignment, j + 3)));
    }
  }
  std::vector<void*> to;
  for (const Buffer* output : outputs) to.push_back(output->data);
  reduce(c.how, to, from, bytes / sizeof(typename E::Storage));
  std::size_t wrong = 0;
  for (const Buffer* output : outputs) wrong += count_wrong<E>(expected, *output);
  const std::size_t kept =
      c.in_place ? operands.size() - std::min(operands.size(), c.output_count) : operands.size();
  for (std::size_t j = 0; j < operands.size(); ++j) {
    if (j < kept) wrong += count_wrong<E>(before[j], operands[j]);
    if (bytes > 0) std::memcpy(operands[j].data, before[j].data(), bytes);
  }
  return wrong;
}

std::string words(const Case& c, std::size_t operand_count, std::size_t count) {
  return "\ncount " + std::to_string(count) + ", operands " + std::to_string(operand_count) +
         ", outputs " + std::to_string(c.output_count) + ", factor " +
         std::to_string(c.how.factor) + ", alignment " +
         std::to_string(static_cast<int>(c.alignment)) + (c.how.streaming ? ", streaming" : "") +
         (c.in_place ? ", in place" : "");
}

/// Tries every way to call with these operands. Returns the cases that went wrong, in words.
template <class E>
std::string wrong_cases(Case c, std::size_t operand_count, std::size_t count) {
  std::vector<Buffer> operands = random_operands<E>(operand_count, count, c.alignment);
  std::string wrong;
  for (const double factor : {1.0, 1.0 / 3}) {
    c.how.factor = factor;
    const std::vector<std::byte> expected = specification<E>(c.how.op, operands, factor);
    for (const std::size_t output_count : output_counts) {
      for (const bool streaming : {false, true}) {
        for (const bool in_place : {false, true}) {
          c.output_count = output_count;
          c.how.streaming = streaming;
          c.in_place = in_place;
          if (wrong_elements<E>(c, operands, expected) == 0) continue;
          wrong += words(c, operand_count, count);
        }
      }
    }
  }
  return wrong;
}

void check(const Combination& how) {
  INFO(reduce_target() << " " << name(how.type) << " in " << name(how.accumulate) << " "
                       << name(how.op));
  std::string wrong;
  for (const std::size_t size : sizes) {
    // What is accessed depends on the type, not on the operator.
    if (test::is_sanitized && size == sizes.back() && how.op != ReduceOperator::sum) continue;
    for (const std::size_t operand_count : operand_counts) {
      for (const Alignment alignment : alignments) {
        const Case c{how, 1, alignment, false};
        wrong += with_element(how.type, how.accumulate, [&](auto e) {
          return wrong_cases<decltype(e)>(c, operand_count, size / size_of(how.type));
        });
      }
    }
  }
  CHECK(wrong == "");
}

}  // namespace

TEST_CASE("every combination into several outputs equals its specification", "[reduce]") {
  for (const std::int64_t target : targets()) {
    const OnTarget on_target(target);
    for (const DataTypeInfo& type : data_types) {
      for (const ReduceOperatorInfo& op : reduce_operators) {
        if (!applies_to(op.op, type.type)) continue;
        check({.type = type.type, .op = op.op});
        if (const auto wide = wide_type(type.type))
          check({.type = type.type, .op = op.op, .accumulate = *wide});
      }
    }
  }
}

TEST_CASE("a sum in float64 keeps what float32 loses", "[reduce]") {
  const std::array<float, 3> values{1e8F, 1, -1e8F};
  const std::array<const void*, 3> operands{&values[0], &values[1], &values[2]};
  float usual = -1;
  float wide = -1;
  const std::array<void*, 1> to_usual{&usual};
  const std::array<void*, 1> to_wide{&wide};
  reduce({.type = DataType::float32}, to_usual, operands, 1);
  reduce({.type = DataType::float32, .accumulate = DataType::float64}, to_wide, operands, 1);
  CHECK(usual == 0);
  CHECK(wide == 1);
}

TEST_CASE("one operand times 1 keeps every bit of a NaN", "[reduce]") {
  const std::vector<std::uint32_t> input(3001, 0xff812345);  // signalling
  const std::array<const void*, 1> operands{input.data()};
  for (const bool streaming : {false, true}) {
    std::vector<std::uint32_t> first(3001), second(3001);
    const std::array<void*, 2> outputs{first.data(), second.data()};
    reduce({.type = DataType::float32, .streaming = streaming}, outputs, operands, 3001);
    CHECK(first == input);
    CHECK(second == input);
  }
}

TEST_CASE("copies reach every output and nothing else", "[reduce]") {
  for (const std::int64_t target : targets()) {
    const OnTarget on_target(target);
    for (const std::size_t bytes : {0, 1, 63, 64, 100, 4096, 8191, 8192, 8193, 100001}) {
      for (const bool streaming : {false, true}) {
        for (const Alignment alignment : alignments) {
          INFO(reduce_target() << " " << bytes << " bytes, streaming " << streaming);
          std::mt19937 random(2);
          Buffer input(bytes, offset_of(alignment, 7));
          fill<PlainElement<std::uint8_t>>(input, random);
          const std::vector<std::byte> expected(input.data, input.data + bytes);
          std::vector<Buffer> outputs;
          std::vector<void*> to{input.data};  // left alone
          for (const std::size_t output_count : output_counts) {
            outputs.emplace_back(bytes, offset_of(alignment, output_count));
            to.insert(to.begin(), outputs.back().data);
            copy(to, input.data, bytes, streaming);
            std::size_t wrong = count_wrong<PlainElement<std::uint8_t>>(expected, input);
            for (Buffer& output : outputs) {
              wrong += count_wrong<PlainElement<std::uint8_t>>(expected, output);
              std::fill_n(output.data, bytes, guard);
            }
            CHECK(wrong == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("a combination of nothing or into nothing is refused", "[reduce]") {
  float value = 1;
  const std::array<const void*, 1> operands{&value};
  const std::array<void*, 1> outputs{&value};
  CHECK_THROWS_AS(rondo::reduce(Combination{}, outputs, {}, 1), Error);
  CHECK_THROWS_AS(rondo::reduce(Combination{}, {}, operands, 1), Error);
  CHECK_THROWS_AS(rondo::reduce({.type = static_cast<DataType>(99)}, outputs, operands, 1), Error);
  CHECK_THROWS_AS(rondo::reduce({.type = DataType::float64, .accumulate = DataType::float32},
                                outputs, operands, 1),
                  Error);
  CHECK(value == 1);
}
