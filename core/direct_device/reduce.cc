#include "core/direct_device/reduce.h"

#include <cstring>

#include "core/cuda/kernels.h"

namespace rondo::direct_device {

using cuda::Kernels;

static_assert(most_operands <= Kernels::max_sources);

bool can_reduce(cuda::Context context) {
  try {
    Kernels::of(context);
    return true;
  } catch (const Error&) {
    return false;  // built without nvcc, or the driver cannot load them
  }
}

void reduce(cuda::Context context, const Call& call, const Reduction& reduction,
            cuda::Stream stream) {
  const bool average = call.op == ReduceOperator::avg;
  const cuda::Combination how{.type = call.type,
                              .op = average ? ReduceOperator::sum : call.op,
                              .divisor = average ? reduction.sources.size() : 1};
  Kernels::of(context).combine(how, reduction.target, reduction.sources, reduction.count, stream);
}

void multiply(cuda::Context context, const Call& call, const Product& product,
              cuda::Stream stream) {
  cuda::Scale scale{.used = true};
  if (cuda::is_device_memory(product.scalar)) {
    scale.at = cuda::address_of(product.scalar);
  } else {
    std::memcpy(&scale.bits, product.scalar, size_of(call.type));
  }
  const cuda::Work work{.how = {.type = call.type, .op = ReduceOperator::sum},
                        .count = product.count,
                        .pointers = {product.source, product.target},
                        .scales = {scale}};
  Kernels::of(context).run(work, stream);
}

}  // namespace rondo::direct_device
