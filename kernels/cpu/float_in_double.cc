// float32 combined in float64, rounded once.
#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/float_in_double.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first
#include "kernels/cpu/families.h"
#include "kernels/cpu/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {

ReduceKernel float_in_double(ReduceOperator op, bool scaled) {
  return float_kernel<Float32InDouble>(op, scaled);
}

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::cpu {
HWY_EXPORT(float_in_double);
ReduceKernel find_float_in_double(ReduceOperator op, bool scaled) {
  return HWY_DYNAMIC_DISPATCH(float_in_double)(op, scaled);
}
}  // namespace rondo::cpu
#endif
