// Sums and products of integers. They wrap, so signed and unsigned types share one kernel.
#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/integer_sum.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first
#include "kernels/cpu/families.h"
#include "kernels/cpu/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {

template <class Sums, class Products>
ReduceKernel choose(ReduceOperator op) {
  switch (op) {
    case ReduceOperator::sum:
    case ReduceOperator::avg:
      return reduce_kernel<Sums, Sum>;
    case ReduceOperator::prod:
      return reduce_kernel<Products, Product>;
    default:
      return nullptr;
  }
}

ReduceKernel integer_sum(DataType type, ReduceOperator op) {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
      return choose<Plain<std::uint8_t>, BytePairs>(op);
    case DataType::int16:
    case DataType::uint16:
      return choose<Plain<std::uint16_t>, Plain<std::uint16_t>>(op);
    case DataType::int32:
    case DataType::uint32:
      return choose<Plain<std::uint32_t>, Plain<std::uint32_t>>(op);
    case DataType::int64:
    case DataType::uint64:
      return choose<Plain<std::uint64_t>, Plain<std::uint64_t>>(op);
    default:
      return nullptr;
  }
}

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::cpu {
HWY_EXPORT(integer_sum);
ReduceKernel find_integer_sum(DataType type, ReduceOperator op) {
  return HWY_DYNAMIC_DISPATCH(integer_sum)(type, op);
}
}  // namespace rondo::cpu
#endif
