// float32 and float64, combined as they are. Also the name of the instruction set in use.
#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/float_wide.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first
#include "kernels/cpu/families.h"
#include "kernels/cpu/loop-inl.h"
#include "kernels/cpu/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {

ReduceKernel float_wide(DataType type, ReduceOperator op, bool scaled) {
  switch (type) {
    case DataType::float32:
      return float_kernel<Plain<float>>(op, scaled);
    case DataType::float64:
      return float_kernel<Plain<double>>(op, scaled);
    default:
      return nullptr;
  }
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
namespace cpu {
HWY_EXPORT(float_wide);
HWY_EXPORT(target_name);
ReduceKernel find_float_wide(DataType type, ReduceOperator op, bool scaled) {
  return HWY_DYNAMIC_DISPATCH(float_wide)(type, op, scaled);
}
static const char* current_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }
}  // namespace cpu

std::string_view reduce_target() { return cpu::current_target(); }
}  // namespace rondo
#endif
