// One kernel a type around the functor that the resident kernel uses too
// (kernels/device/combine.h).
#include <algorithm>
#include <string>
#include <type_traits>

#include "kernels/cuda/error.h"
#include "kernels/cuda/reduce.h"
#include "kernels/device/combine.h"
#include "rondo/error.h"

namespace rondo {
namespace {

using namespace device;

constexpr unsigned threads_per_block = 256;
/// Enough 16-byte loads in flight to fill the memory pipes of the largest devices.
constexpr std::size_t max_blocks = 1024;

/// What a kernel gets by value: no device memory is needed for the list of operands.
struct Call {
  Recipe recipe;
  Targets targets;
  std::size_t count;
  std::uint32_t operands;
  Source sources[max_device_operands];
};

__device__ Share share_of_grid() {
  return {blockIdx.x * std::size_t{blockDim.x} + threadIdx.x, gridDim.x * std::size_t{blockDim.x}};
}

template <class E>
__global__ void __launch_bounds__(threads_per_block)
    reduce_kernel(const __grid_constant__ Call call) {
  combine_share<E>(call.recipe, {call.sources, call.operands}, call.targets, call.count,
                   share_of_grid());
}

template <class T>
__global__ void divide_kernel(T* values, std::size_t divisor, std::size_t count) {
  const Share share = share_of_grid();
  for (std::size_t i = share.thread; i < count; i += share.threads) {
    if constexpr (std::is_signed_v<T>) {
      values[i] = static_cast<T>(values[i] / static_cast<std::int64_t>(divisor));
    } else {
      values[i] = static_cast<T>(values[i] / divisor);
    }
  }
}

unsigned blocks_for(std::size_t items) {
  return static_cast<unsigned>(
      std::min(max_blocks, (items + threads_per_block - 1) / threads_per_block));
}

void check(const DeviceCombination& how, const Call& call) {
  if (static_cast<std::size_t>(how.type) >= data_types.size() ||
      static_cast<std::size_t>(how.op) >= reduce_operators.size()) {
    throw Error(ErrorCode::invalid_argument,
                "no device reduction for data type " + std::to_string(static_cast<int>(how.type)) +
                    " and operator " + std::to_string(static_cast<int>(how.op)),
                {.remedy = "use a DataType and a ReduceOperator that rondo/types.h lists"});
  }
  const auto aligned = [&](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % size_of(how.type) == 0;
  };
  const bool all = aligned(call.targets.first) &&
                   std::all_of(call.sources, call.sources + call.operands,
                               [&](const Source& source) { return aligned(source.data); });
  if (!all) {
    throw Error(
        ErrorCode::invalid_argument,
        "a device pointer is not aligned to its " + std::string(name(how.type)) + " elements",
        {.remedy = "align device buffers to the element size, best to 16 bytes"});
  }
}

}  // namespace

void reduce_on_device(const DeviceCombination& how, void* output, const void* const* operands,
                      int operand_count, std::size_t count, void* stream) {
  if (operand_count < 1 || operand_count > max_device_operands) {
    throw Error(ErrorCode::invalid_argument, "a device reduction takes 1 to " +
                                                 std::to_string(max_device_operands) +
                                                 " operands, not " + std::to_string(operand_count));
  }
  Call call{};
  call.targets.first = static_cast<std::byte*>(output);
  call.count = count;
  call.operands = static_cast<std::uint32_t>(operand_count);
  for (int j = 0; j < operand_count; ++j)
    call.sources[j].data = static_cast<const std::byte*>(operands[j]);
  check(how, call);
  if (count == 0) return;
  const bool scaled = how.factor != 1.0 && how.type >= DataType::float16;
  call.recipe = {.type = how.type, .op = how.op, .after = scaled ? how.factor : 1.0};
  if (operand_count == 1 && !scaled) call.recipe.type = copying_type(size_of(how.type));
  visit_type(call.recipe.type, [&](auto tag) {
    using E = Element<decltype(tag)::value>;
    const std::size_t lanes = 16 / sizeof(typename E::Storage);
    const unsigned blocks = blocks_for((count + lanes - 1) / lanes);
    reduce_kernel<E><<<blocks, threads_per_block, 0, static_cast<cudaStream_t>(stream)>>>(call);
  });
  demand(cudaGetLastError(), "launching a reduction of " + std::string(name(how.type)));
}

void divide_on_device(DataType type, void* values, std::size_t divisor, std::size_t count,
                      void* stream) {
  if (divisor == 0)
    throw Error(ErrorCode::invalid_argument, "an average over no ranks: the divisor is 0");
  if (count == 0 || divisor == 1 || type >= DataType::float16) return;
  visit_type(type, [&](auto tag) {
    using T = typename Element<decltype(tag)::value>::Work;
    if constexpr (std::is_integral_v<T>) {
      divide_kernel<<<blocks_for(count), threads_per_block, 0, static_cast<cudaStream_t>(stream)>>>(
          static_cast<T*>(values), divisor, count);
    }
  });
  demand(cudaGetLastError(), "launching a division of " + std::string(name(type)));
}

}  // namespace rondo
