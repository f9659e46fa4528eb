// The entry points: arguments checked, the kernel found once, blocks handed to it.
#include "kernels/cpu/reduce.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "kernels/cpu/families.h"
#include "kernels/cpu/targets.h"
// targets.h comes first
#include "hwy/cache_control.h"
#include "rondo/error.h"

namespace rondo {
namespace {

[[noreturn]] void throw_unknown(DataType type, ReduceOperator op) {
  throw Error(ErrorCode::invalid_argument,
              "no CPU reduction for data type " + std::to_string(static_cast<int>(type)) +
                  " and operator " + std::to_string(static_cast<int>(op)),
              {.remedy = "use a DataType and a ReduceOperator that rondo/types.h lists"});
}

cpu::ReduceKernel find_kernel(DataType type, ReduceOperator op, bool scaled) {
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
      return cpu::find_float_wide(type, op, scaled);
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return cpu::find_small_float(type, op, scaled);
  }
  return nullptr;
}

bool is_integer(DataType type) { return type <= DataType::uint64; }

// Several outputs, or streaming ones, are written block by block: results are made in the first
// cache (in the first output, or in a stage when nothing is to stay in the caches) and copied from
// there, so that every kernel has one way to store. A block is small enough to stay in the first
// cache beside the operands' lines, and large enough for their prefetching.
constexpr std::size_t line_bytes = 64;
constexpr std::size_t block_bytes = 4096;
constexpr std::size_t longest_block = 2 * block_bytes + line_bytes;

/// Calls visit(offset, bytes) for blocks of at most longest_block bytes, all but the first of which
/// start at a line of `output`, as long as that does not split an element.
template <class Visit>
void for_each_block(const void* output, std::size_t bytes, Visit&& visit) {
  constexpr std::size_t largest_element = 8;
  const auto address = reinterpret_cast<std::uintptr_t>(output);
  const std::size_t head = (line_bytes - address % line_bytes) % line_bytes;
  std::size_t size = block_bytes + head / largest_element * largest_element;
  std::size_t offset = 0;
  for (; bytes - offset >= size + block_bytes; size = block_bytes) {
    visit(offset, size);
    offset += size;
  }
  visit(offset, bytes - offset);
}

std::byte* at(void* output, std::size_t offset) { return static_cast<std::byte*>(output) + offset; }

struct Reduction {
  cpu::ReduceKernel kernel;
  double factor;
  std::span<const void* const> operands;

  void operator()(std::byte* output, std::size_t offset, std::size_t bytes) const {
    kernel(output, {operands.data(), operands.size(), offset}, factor, bytes);
  }
};

void reduce_streaming(const Reduction& reduction, std::span<void* const> outputs,
                      std::size_t bytes) {
  const cpu::CopyKernel stream = cpu::find_copy(true);
  alignas(line_bytes) std::array<std::byte, longest_block> stage;
  for_each_block(outputs[0], bytes, [&](std::size_t offset, std::size_t size) {
    reduction(stage.data(), offset, size);
    for (void* output : outputs) stream(at(output, offset), stage.data(), size);
  });
  hwy::FlushStream();
}

void reduce_cached(const Reduction& reduction, std::span<void* const> outputs, std::size_t bytes) {
  if (outputs.size() == 1) return reduction(at(outputs[0], 0), 0, bytes);
  const cpu::CopyKernel keep = cpu::find_copy(false);
  for_each_block(outputs[0], bytes, [&](std::size_t offset, std::size_t size) {
    std::byte* const first = at(outputs[0], offset);
    reduction(first, offset, size);
    for (void* output : outputs.subspan(1)) keep(at(output, offset), first, size);
  });
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

void reduce(const Combination& how, std::span<void* const> outputs,
            std::span<const void* const> operands, std::size_t count) {
  if (operands.empty() || outputs.empty()) {
    throw Error(ErrorCode::invalid_argument, "a reduction needs at least one operand and output");
  }
  const bool scaled = how.factor != 1.0 && !is_integer(how.type);
  const cpu::ReduceKernel kernel = find_kernel(how.type, how.op, scaled);
  if (kernel == nullptr) throw_unknown(how.type, how.op);
  if (count == 0) return;
  const std::size_t bytes = count * size_of(how.type);
  if (operands.size() == 1 && !scaled) return copy(outputs, operands[0], bytes, how.streaming);
  const Reduction reduction{kernel, how.factor, operands};
  if (how.streaming) return reduce_streaming(reduction, outputs, bytes);
  reduce_cached(reduction, outputs, bytes);
}

void copy(std::span<void* const> outputs, const void* input, std::size_t bytes, bool streaming) {
  if (bytes == 0 || outputs.empty()) return;
  const cpu::CopyKernel kernel = cpu::find_copy(streaming);
  const auto copy_block = [&](std::size_t offset, std::size_t size) {
    const std::byte* from = static_cast<const std::byte*>(input) + offset;
    for (void* output : outputs) {
      if (output != input) kernel(at(output, offset), from, size);
    }
  };
  if (outputs.size() == 1) {
    copy_block(0, bytes);
  } else {
    for_each_block(outputs[0], bytes, copy_block);
  }
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
