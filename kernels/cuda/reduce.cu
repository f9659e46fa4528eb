// One kernel template: a grid-stride loop over 16-byte vectors and a tail of single elements that
// share one functor.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/cuda/reduce.h"
#include "rondo/error.h"

namespace rondo {
namespace {

constexpr int threads_per_block = 256;
/// Enough 16-byte loads in flight to fill the memory pipes of the largest devices.
constexpr std::size_t max_blocks = 1024;

/// What a kernel gets by value: no device memory is needed for the list of operands.
struct Operands {
  const void* pointers[max_device_operands];
  int count;
};

/// How a type is worked on: `Work` and the way there and back. Narrowing rounds to nearest even.
template <class T>
struct Element {
  using Work = T;
  static __device__ Work widen(T value) { return value; }
  static __device__ T narrow(Work value) { return value; }
};
template <>
struct Element<__half> {
  using Work = float;
  static __device__ Work widen(__half value) { return __half2float(value); }
  static __device__ __half narrow(Work value) { return __float2half_rn(value); }
};
template <>
struct Element<__nv_bfloat16> {
  using Work = float;
  static __device__ Work widen(__nv_bfloat16 value) { return __bfloat162float(value); }
  static __device__ __nv_bfloat16 narrow(Work value) { return __float2bfloat16_rn(value); }
};
/// 8-bit floats as their codes; e4m3 saturates, e5m2 overflows to infinity.
template <__nv_fp8_interpretation_t interpretation>
struct Float8 {
  __nv_fp8_storage_t code;
};
template <__nv_fp8_interpretation_t interpretation>
struct Element<Float8<interpretation>> {
  using Work = float;
  static constexpr __nv_saturation_t saturation =
      interpretation == __NV_E4M3 ? __NV_SATFINITE : __NV_NOSAT;
  static __device__ Work widen(Float8<interpretation> value) {
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(value.code, interpretation)));
  }
  static __device__ Float8<interpretation> narrow(Work value) {
    return {__nv_cvt_float_to_fp8(value, saturation, interpretation)};
  }
};

// Integers are promoted, combined and cut back; sums and products run on unsigned types only.
struct Sum {
  template <class W>
  static __device__ W combine(W a, W b) {
    return static_cast<W>(a + b);
  }
};
struct Product {
  template <class W>
  static __device__ W combine(W a, W b) {
    if constexpr (sizeof(W) < 4) {  // else 65535 * 65535 would overflow the promoted int
      return static_cast<W>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
    } else {
      return a * b;
    }
  }
};
// A NaN on the left is kept; one on the right is not less than anything, so it is taken.
struct Minimum {
  template <class W>
  static __device__ W combine(W a, W b) {
    return a < b || a != a ? a : b;
  }
};
struct Maximum {
  template <class W>
  static __device__ W combine(W a, W b) {
    return b < a || a != a ? a : b;
  }
};

/// Element i of every operand combined, for `lanes` neighbouring elements at once: the functor
/// that body (16 bytes) and tail (one element) share.
template <class T, class Operator, int lanes>
__device__ void reduce_at(T* output, const Operands& operands, std::size_t i) {
  using E = Element<T>;
  struct alignas(lanes * sizeof(T)) Vector {
    T lane[lanes];
  };
  const auto load = [i](const void* operand) {
    return *reinterpret_cast<const Vector*>(static_cast<const T*>(operand) + i);
  };
  const Vector first = load(operands.pointers[0]);
  typename E::Work work[lanes];
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane) work[lane] = E::widen(first.lane[lane]);
  for (int j = 1; j < operands.count; ++j) {
    const Vector next = load(operands.pointers[j]);
#pragma unroll
    for (int lane = 0; lane < lanes; ++lane) {
      work[lane] = Operator::combine(work[lane], E::widen(next.lane[lane]));
    }
  }
  Vector result;
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane) result.lane[lane] = E::narrow(work[lane]);
  *reinterpret_cast<Vector*>(output + i) = result;
}

template <class T, class Operator>
__global__ void reduce_kernel(T* output, Operands operands, std::size_t count,
                              std::size_t vectors) {
  constexpr int lanes = 16 / sizeof(T);
  const std::size_t thread = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  const std::size_t threads = gridDim.x * std::size_t{blockDim.x};
  for (std::size_t i = thread; i < vectors; i += threads) {
    reduce_at<T, Operator, lanes>(output, operands, i * lanes);
  }
  for (std::size_t i = vectors * lanes + thread; i < count; i += threads) {
    reduce_at<T, Operator, 1>(output, operands, i);
  }
}

struct Call {
  void* output;
  Operands operands;
  std::size_t count;
  cudaStream_t stream;
};

bool all_aligned(const Call& call, std::size_t bytes) {
  const auto aligned = [bytes](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
  };
  const void* const* pointers = call.operands.pointers;
  return aligned(call.output) && std::all_of(pointers, pointers + call.operands.count, aligned);
}

template <class T, class Operator>
void launch(const Call& call) {
  constexpr std::size_t lanes = 16 / sizeof(T);
  const std::size_t vectors = all_aligned(call, 16) ? call.count / lanes : 0;
  const std::size_t work_items = std::max(vectors, call.count - vectors * lanes);
  const std::size_t blocks =
      std::min(max_blocks, (work_items + threads_per_block - 1) / threads_per_block);
  reduce_kernel<T, Operator><<<static_cast<unsigned>(blocks), threads_per_block, 0, call.stream>>>(
      static_cast<T*>(call.output), call.operands, call.count, vectors);
}

template <class T>
void launch_order(ReduceOperator op, const Call& call) {
  op == ReduceOperator::min ? launch<T, Minimum>(call) : launch<T, Maximum>(call);
}
template <class T>
void launch_sum(ReduceOperator op, const Call& call) {
  op == ReduceOperator::prod ? launch<T, Product>(call) : launch<T, Sum>(call);
}

bool is_order(ReduceOperator op) { return op == ReduceOperator::min || op == ReduceOperator::max; }
template <class Signed, class Unsigned>
void launch_signed(ReduceOperator op, const Call& call) {
  is_order(op) ? launch_order<Signed>(op, call) : launch_sum<Unsigned>(op, call);
}
template <class T>
void launch_any(ReduceOperator op, const Call& call) {
  is_order(op) ? launch_order<T>(op, call) : launch_sum<T>(op, call);
}

void launch_type(DataType type, ReduceOperator op, const Call& call) {
  switch (type) {
    case DataType::int8:
      return launch_signed<std::int8_t, std::uint8_t>(op, call);
    case DataType::uint8:
      return launch_any<std::uint8_t>(op, call);
    case DataType::int16:
      return launch_signed<std::int16_t, std::uint16_t>(op, call);
    case DataType::uint16:
      return launch_any<std::uint16_t>(op, call);
    case DataType::int32:
      return launch_signed<std::int32_t, std::uint32_t>(op, call);
    case DataType::uint32:
      return launch_any<std::uint32_t>(op, call);
    case DataType::int64:
      return launch_signed<std::int64_t, std::uint64_t>(op, call);
    case DataType::uint64:
      return launch_any<std::uint64_t>(op, call);
    case DataType::float16:
      return launch_any<__half>(op, call);
    case DataType::bfloat16:
      return launch_any<__nv_bfloat16>(op, call);
    case DataType::float32:
      return launch_any<float>(op, call);
    case DataType::float64:
      return launch_any<double>(op, call);
    case DataType::float8_e4m3:
      return launch_any<Float8<__NV_E4M3>>(op, call);
    case DataType::float8_e5m2:
      return launch_any<Float8<__NV_E5M2>>(op, call);
  }
}

/// Throws when the arguments cannot be a reduction.
void check(DataType type, ReduceOperator op, const Call& call) {
  if (static_cast<std::size_t>(type) >= data_types.size() ||
      static_cast<std::size_t>(op) >= reduce_operators.size()) {
    throw Error(ErrorCode::invalid_argument,
                "no device reduction for data type " + std::to_string(static_cast<int>(type)) +
                    " and operator " + std::to_string(static_cast<int>(op)),
                {.remedy = "use a DataType and a ReduceOperator that rondo/types.h lists"});
  }
  if (!all_aligned(call, size_of(type))) {
    throw Error(ErrorCode::invalid_argument,
                "a device pointer is not aligned to its " + std::string(name(type)) + " elements",
                {.remedy = "align device buffers to the element size, best to 16 bytes"});
  }
}

}  // namespace

void reduce_on_device(DataType type, ReduceOperator op, void* output, const void* const* operands,
                      int operand_count, std::size_t count, void* stream) {
  if (operand_count < 1 || operand_count > max_device_operands) {
    throw Error(ErrorCode::invalid_argument, "a device reduction takes 1 to " +
                                                 std::to_string(max_device_operands) +
                                                 " operands, not " + std::to_string(operand_count));
  }
  Call call{output, {{}, operand_count}, count, static_cast<cudaStream_t>(stream)};
  std::copy_n(operands, operand_count, call.operands.pointers);
  check(type, op, call);
  if (count == 0) return;
  launch_type(type, op, call);
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) {
    throw Error(ErrorCode::system, std::string("a device reduction could not be launched: ") +
                                       cudaGetErrorString(status));
  }
}

}  // namespace rondo
