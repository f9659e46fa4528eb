// The kernels that core/cuda/kernels.h launches and finds by their names (kernels/device/pieces.h):
// one for each type, and one for float32 in float64. They are compiled to an image, not into a
// library (image.h). At least two blocks run on a processor, so that enough loads are under way.
#include "kernels/device/pieces.h"

using namespace rondo;
using namespace rondo::device;

namespace {

/// blockIdx.y is the piece; blocks along x share its elements.
template <class E>
__device__ void combine_grid(const Pieces& call) {
  PieceRun<E>(call, blockIdx.y)
      .run({blockIdx.x * std::size_t{blockDim.x} + threadIdx.x,
            gridDim.x * std::size_t{blockDim.x}});
}

}  // namespace

#define RONDO_COMBINE(type)                                        \
  extern "C" __global__ void __launch_bounds__(combine_threads, 2) \
      rondo_combine_##type(const __grid_constant__ Pieces call) {  \
    combine_grid<Element<DataType::type>>(call);                   \
  }
RONDO_COMBINE(int8)
RONDO_COMBINE(uint8)
RONDO_COMBINE(int16)
RONDO_COMBINE(uint16)
RONDO_COMBINE(int32)
RONDO_COMBINE(uint32)
RONDO_COMBINE(int64)
RONDO_COMBINE(uint64)
RONDO_COMBINE(float16)
RONDO_COMBINE(bfloat16)
RONDO_COMBINE(float32)
RONDO_COMBINE(float64)
RONDO_COMBINE(float8_e4m3)
RONDO_COMBINE(float8_e5m2)
#undef RONDO_COMBINE

extern "C" __global__ void __launch_bounds__(combine_threads, 2)
    rondo_combine_float32_in_double(const __grid_constant__ Pieces call) {
  combine_grid<Float32InDouble>(call);
}
