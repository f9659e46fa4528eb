// Floats times a factor, and the name of the instruction set in use.
#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/scale.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first
#include "kernels/cpu/families.h"
#include "kernels/cpu/loop-inl.h"
#include "kernels/cpu/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {

ScaleKernel scaling(DataType type) {
  switch (type) {
    case DataType::float16:
      return scale_kernel<Float16>;
    case DataType::bfloat16:
      return scale_kernel<Bfloat16>;
    case DataType::float32:
      return scale_kernel<Plain<float>>;
    case DataType::float64:
      return scale_kernel<Plain<double>>;
    case DataType::float8_e4m3:
      return scale_kernel<Float8E4m3>;
    case DataType::float8_e5m2:
      return scale_kernel<Float8E5m2>;
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
HWY_EXPORT(scaling);
HWY_EXPORT(target_name);
ScaleKernel find_scale(DataType type) { return HWY_DYNAMIC_DISPATCH(scaling)(type); }
static const char* current_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }
}  // namespace cpu

std::string_view reduce_target() { return cpu::current_target(); }
}  // namespace rondo
#endif
