// Minimum and maximum of integers.
#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/integer_order.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first
#include "kernels/cpu/families.h"
#include "kernels/cpu/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {

template <class T>
ReduceKernel choose(ReduceOperator op) {
  if (op == ReduceOperator::min) return reduce_kernel<Plain<T>, Minimum>;
  if (op == ReduceOperator::max) return reduce_kernel<Plain<T>, Maximum>;
  return nullptr;
}

ReduceKernel integer_order(DataType type, ReduceOperator op) {
  switch (type) {
    case DataType::int8:
      return choose<std::int8_t>(op);
    case DataType::uint8:
      return choose<std::uint8_t>(op);
    case DataType::int16:
      return choose<std::int16_t>(op);
    case DataType::uint16:
      return choose<std::uint16_t>(op);
    case DataType::int32:
      return choose<std::int32_t>(op);
    case DataType::uint32:
      return choose<std::uint32_t>(op);
    case DataType::int64:
      return choose<std::int64_t>(op);
    case DataType::uint64:
      return choose<std::uint64_t>(op);
    default:
      return nullptr;
  }
}

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::cpu {
HWY_EXPORT(integer_order);
ReduceKernel find_integer_order(DataType type, ReduceOperator op) {
  return HWY_DYNAMIC_DISPATCH(integer_order)(type, op);
}
}  // namespace rondo::cpu
#endif
