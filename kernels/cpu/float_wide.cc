// float32 and float64, combined as they are.
#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/float_wide.cc"
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

ReduceKernel float_wide(DataType type, ReduceOperator op) {
  switch (type) {
    case DataType::float32:
      return choose<Plain<float>>(op);
    case DataType::float64:
      return choose<Plain<double>>(op);
    default:
      return nullptr;
  }
}

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::cpu {
HWY_EXPORT(float_wide);
ReduceKernel find_float_wide(DataType type, ReduceOperator op) {
  return HWY_DYNAMIC_DISPATCH(float_wide)(type, op);
}
}  // namespace rondo::cpu
#endif
