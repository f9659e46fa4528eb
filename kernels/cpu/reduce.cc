// The entry points: they check the arguments and look the kernel up once.
#include "kernels/cpu/reduce.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cpu/families.h"
#include "kernels/cpu/targets.h"
// targets.h comes first
#include "hwy/cache_control.h"
#include "rondo/error.h"

namespace rondo {
namespace {

[[noreturn]] void refuse(const Combination& how) {
  const auto [type, op, factor, streaming, accumulate, own] = how;
  const bool known = static_cast<std::size_t>(type) < data_types.size() &&
                     static_cast<std::size_t>(op) < reduce_operators.size();
  throw Error(
      ErrorCode::invalid_argument,
      known && !applies_to(op, type)
          ? obstacle(op, type)
          : "no CPU reduction for data type " + std::to_string(static_cast<int>(type)) +
                " in data type " + std::to_string(static_cast<int>(accumulate)) + " and operator " +
                std::to_string(static_cast<int>(op)),
      {.remedy = "use a DataType and a ReduceOperator that rondo/types.h lets go together"});
}

cpu::ReduceKernel find_integer(DataType type, ReduceOperator op) {
  switch (op) {
    case ReduceOperator::sum:
    case ReduceOperator::prod:
    case ReduceOperator::avg:
      return cpu::find_integer_sum(type, op);
    case ReduceOperator::min:
    case ReduceOperator::max:
      return cpu::find_integer_order(type, op);
    case ReduceOperator::bit_and:
    case ReduceOperator::bit_or:
    case ReduceOperator::bit_xor:
      return cpu::find_integer_bits(op);
  }
  return nullptr;
}

cpu::ReduceKernel find_kernel(const Combination& how, bool scaled) {
  const DataType type = how.type;
  const ReduceOperator op = how.op;
  if (how.accumulate != type && wide_type(type) != how.accumulate) return nullptr;
  if (how.accumulate == DataType::float64 && type == DataType::float32)
    return cpu::find_float_in_double(op, scaled);
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::int16:
    case DataType::uint16:
    case DataType::int32:
    case DataType::uint32:
    case DataType::int64:
    case DataType::uint64:
      return find_integer(type, op);
    case DataType::float32:
    case DataType::float64:
      return cpu::find_float_wide(type, op, scaled);
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return cpu::find_small_float(type, op, scaled);
  }
  return nullptr;
}

/// Up to 32 bits a float64 quotient truncates right: it is off by less than the distance from a
/// quotient to the next integer, which is at least 1/divisor. 64 bits divide their magnitudes.
template <class T>
T quotient(T value, std::size_t divisor) {
  if constexpr (sizeof(T) < 8) {
    return static_cast<T>(static_cast<double>(value) / static_cast<double>(divisor));
  } else if constexpr (std::is_signed_v<T>) {
    const auto bits = static_cast<std::uint64_t>(value);
    return static_cast<T>(value < 0 ? 0 - (0 - bits) / divisor : bits / divisor);
  } else {
    return value / divisor;
  }
}

template <class T>
void divide_all(void* values, std::size_t divisor, std::size_t count) {
  auto* bytes = static_cast<std::byte*>(values);
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    value = quotient(value, divisor);
    std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
  }
}

/// operands[0][i] (op) operands[1][i] ..., into `piece`.
void combine_piece(const Operator& own, std::span<const void* const> operands, void* piece,
                   std::size_t elements) {
  if (own.combine_all != nullptr && operands.size() > 1)
    return own.combine_all(operands.data(), operands.size(), piece, elements);
  std::memcpy(piece, operands[0], elements * own.element_bytes);
  for (const void* const operand : operands.subspan(1))
    own.combine(piece, operand, piece, elements);
}

/// Piece by piece, so that a piece stays in the nearest cache. No output is written before all operands
/// of its piece have been read, as an output may be one of them.
void combine_by(const Operator& own, std::span<void* const> outputs,
                std::span<const void* const> operands, std::size_t count) {
  alignas(64) std::array<std::byte, most_operator_bytes> piece;
  const std::size_t most = piece.size() / own.element_bytes;
  std::vector<const void*> later;  // where later pieces begin: most calls have but one
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t elements = std::min(most, count - done);
    const std::size_t begin = done * own.element_bytes;
    if (begin > 0) {
      later.clear();
      for (const void* const operand : operands)
        later.push_back(static_cast<const std::byte*>(operand) + begin);
    }
    const std::span<const void* const> here(later);
    combine_piece(own, begin > 0 ? here : operands, piece.data(), elements);
    for (void* const output : outputs)
      std::memcpy(static_cast<std::byte*>(output) + begin, piece.data(),
                  elements * own.element_bytes);
  }
}

}  // namespace

ReductionKernel::ReductionKernel(const Combination& how)
    : how_(how), scaled_(how.own == nullptr && how.factor != 1.0 && !is_integer(how.type)) {
  if (how.own != nullptr) return;
  kernel_ = find_kernel(how, scaled_);
  if (kernel_ == nullptr) refuse(how);
}

void ReductionKernel::operator()(std::span<void* const> outputs,
                                 std::span<const void* const> operands, std::size_t count) const {
  if (operands.empty() || outputs.empty()) {
    throw Error(ErrorCode::invalid_argument, "a reduction needs at least one operand and output");
  }
  if (count == 0) return;
  if (how_.own != nullptr) return combine_by(*how_.own, outputs, operands, count);
  const std::size_t bytes = count * size_of(how_.type);
  if (operands.size() == 1 && !scaled_) return copy(outputs, operands[0], bytes, how_.streaming);
  kernel_({outputs.data(), outputs.size()}, {operands.data(), operands.size()}, how_.streaming,
          how_.factor, bytes);
  if (how_.streaming) hwy::FlushStream();
}

void reduce(const Combination& how, std::span<void* const> outputs,
            std::span<const void* const> operands, std::size_t count) {
  ReductionKernel{how}(outputs, operands, count);
}

// Copying combines one operand with nothing. It serves a group of outputs at a time, except an
// output that is the input.
void copy(std::span<void* const> outputs, const void* input, std::size_t bytes, bool streaming) {
  if (bytes == 0) return;
  const cpu::ReduceKernel kernel = cpu::find_integer_sum(DataType::uint8, ReduceOperator::sum);
  std::array<void*, 16> group;
  std::size_t size = 0;
  const auto copy_group = [&] {
    if (size > 0) kernel({group.data(), size}, {&input, 1}, streaming, 1.0, bytes);
    size = 0;
  };
  for (void* output : outputs) {
    if (output != input) group[size++] = output;
    if (size == group.size()) copy_group();
  }
  copy_group();
  if (streaming) hwy::FlushStream();
}

void reduce(DataType type, ReduceOperator op, void* output, std::span<const void* const> operands,
            std::size_t count) {
  reduce({.type = type, .op = op}, {&output, 1}, operands, count);
}

void scale(DataType type, void* output, const void* input, double factor, std::size_t count) {
  reduce({.type = type, .factor = factor}, {&output, 1}, {&input, 1}, count);
}

void divide(DataType type, void* values, std::size_t divisor, std::size_t count) {
  if (divisor == 0) {
    throw Error(ErrorCode::invalid_argument, "an average over no ranks: the divisor is 0");
  }
  switch (type) {
    case DataType::int8:
      return divide_all<std::int8_t>(values, divisor, count);
    case DataType::uint8:
      return divide_all<std::uint8_t>(values, divisor, count);
    case DataType::int16:
      return divide_all<std::int16_t>(values, divisor, count);
    case DataType::uint16:
      return divide_all<std::uint16_t>(values, divisor, count);
    case DataType::int32:
      return divide_all<std::int32_t>(values, divisor, count);
    case DataType::uint32:
      return divide_all<std::uint32_t>(values, divisor, count);
    case DataType::int64:
      return divide_all<std::int64_t>(values, divisor, count);
    case DataType::uint64:
      return divide_all<std::uint64_t>(values, divisor, count);
    default:
      return;
  }
}

}  // namespace rondo
