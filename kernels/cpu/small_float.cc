// 16- and 8-bit floats: combined in float32, rounded once.
#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/small_float.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first
#include "kernels/cpu/families.h"
#include "kernels/cpu/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {

template <class Codec>
ReduceKernel choose(ReduceOperator op) {
  switch (op) {
    case ReduceOperator::sum:
    case ReduceOperator::avg:
      return reduce_kernel<Codec, Sum>;
    case ReduceOperator::prod:
      return reduce_kernel<Codec, Product>;
    case ReduceOperator::min:
      return reduce_kernel<Codec, Minimum>;
    case ReduceOperator::max:
      return reduce_kernel<Codec, Maximum>;
  }
  return nullptr;
}

ReduceKernel small_float(DataType type, ReduceOperator op) {
  switch (type) {
    case DataType::float16:
      return choose<Float16>(op);
    case DataType::bfloat16:
      return choose<Bfloat16>(op);
    case DataType::float8_e4m3:
      return choose<Float8E4m3>(op);
    case DataType::float8_e5m2:
      return choose<Float8E5m2>(op);
    default:
      return nullptr;
  }
}

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::cpu {
HWY_EXPORT(small_float);
ReduceKernel find_small_float(DataType type, ReduceOperator op) {
  return HWY_DYNAMIC_DISPATCH(small_float)(type, op);
}
}  // namespace rondo::cpu
#endif
