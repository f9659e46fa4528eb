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

ReduceKernel small_float(DataType type, ReduceOperator op, bool scaled) {
  switch (type) {
    case DataType::float16:
      return float_kernel<Float16>(op, scaled);
    case DataType::bfloat16:
      return float_kernel<Bfloat16>(op, scaled);
    case DataType::float8_e4m3:
      return float_kernel<Float8E4m3>(op, scaled);
    case DataType::float8_e5m2:
      return float_kernel<Float8E5m2>(op, scaled);
    default:
      return nullptr;
  }
}

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::cpu {
HWY_EXPORT(small_float);
ReduceKernel find_small_float(DataType type, ReduceOperator op, bool scaled) {
  return HWY_DYNAMIC_DISPATCH(small_float)(type, op, scaled);
}
}  // namespace rondo::cpu
#endif
