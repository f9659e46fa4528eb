#include "core/direct_device/reduce.h"

#include <cstring>

#include "core/cuda/handles.h"
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
                              .divisor = average ? reduction.sources.size() : 1,
                              .accumulate = call.accumulate};
  Kernels::of(context).combine(how, reduction.target, reduction.sources, reduction.count, stream);
}

namespace {

/// Where kernels of the current context reach it; 0: nowhere, as far as the driver knows.
cuda::DevicePointer reachable(const void* pointer) {
  if (cuda::is_device_memory(pointer)) return cuda::address_of(pointer);
  return cuda::pointer_attribute<cuda::DevicePointer>(cuda::attribute_device_pointer,
                                                      cuda::address_of(pointer))
      .value_or(0);
}

}  // namespace

device::Scalar scalar_at(const void* pointer, DataType type, bool later) {
  device::Scalar scalar{.used = true};
  if (later) scalar.at = reinterpret_cast<const std::byte*>(reachable(pointer));
  if (scalar.at == nullptr) std::memcpy(&scalar.bits, pointer, size_of(type));
  return scalar;
}

void multiply(cuda::Context context, const Call& call, const Product& product,
              cuda::Stream stream) {
  const std::size_t element = size_of(call.type);
  cuda::DevicePointer source = product.source;
  if (source % element != 0) {  // kernels access whole elements, copies bytes
    cuda::copy(product.target, source, product.count * element, stream);
    source = product.target;
  }
  const cuda::Work work{.how = {.type = call.type, .op = ReduceOperator::sum},
                        .count = product.count,
                        .pointers = {source, product.target},
                        .scales = {product.scalar}};
  Kernels::of(context).run(work, stream);
}

}  // namespace rondo::direct_device
