// The entry points: arguments checked, the kernel found once, copies left to memmove.
#include "kernels/cpu/reduce.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "kernels/cpu/families.h"
#include "rondo/error.h"

namespace rondo {
namespace {

[[noreturn]] void throw_unknown(DataType type, ReduceOperator op) {
  throw Error(ErrorCode::invalid_argument,
              "no CPU reduction for data type " + std::to_string(static_cast<int>(type)) +
                  " and operator " + std::to_string(static_cast<int>(op)),
              {.remedy = "use a DataType and a ReduceOperator that rondo/types.h lists"});
}

cpu::ReduceKernel find_kernel(DataType type, ReduceOperator op) {
  const bool ordering = op == ReduceOperator::min || op == ReduceOperator::max;
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::int16:
    case DataType::uint16:
    case DataType::int32:
    case DataType::uint32:
    case DataType::int64:
    case DataType::uint64:
      return ordering ? cpu::find_integer_order(type, op) : cpu::find_integer_sum(type, op);
    case DataType::float32:
    case DataType::float64:
      return cpu::find_float_wide(type, op);
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return cpu::find_small_float(type, op);
  }
  return nullptr;
}

void copy(void* output, const void* input, std::size_t bytes) {
  if (output != input) std::memcpy(output, input, bytes);
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

}  // namespace

void reduce(DataType type, ReduceOperator op, void* output, std::span<const void* const> operands,
            std::size_t count) {
  if (operands.empty()) {
    throw Error(ErrorCode::invalid_argument, "a reduction needs at least one operand");
  }
  const cpu::ReduceKernel kernel = find_kernel(type, op);
  if (kernel == nullptr) throw_unknown(type, op);
  if (count == 0) return;
  const std::size_t bytes = count * size_of(type);
  if (operands.size() == 1) return copy(output, operands[0], bytes);
  kernel(static_cast<std::byte*>(output), operands.data(), operands.size(), bytes);
}

void scale(DataType type, void* output, const void* input, double factor, std::size_t count) {
  if (count == 0) return;
  const std::size_t bytes = count * size_of(type);
  const cpu::ScaleKernel kernel = cpu::find_scale(type);
  if (kernel == nullptr) return copy(output, input, bytes);
  kernel(static_cast<std::byte*>(output), input, factor, bytes);
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
