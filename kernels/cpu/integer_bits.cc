// Operators on the bits of integers. Neither sign nor width matters, so all types share one kernel
// for each operator.
#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/integer_bits.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first
#include "kernels/cpu/families.h"
#include "kernels/cpu/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {

/// Bytes: data of any alignment and length is made of whole ones.
using Bits = Plain<std::uint8_t>;

ReduceKernel integer_bits(ReduceOperator op) {
  switch (op) {
    case ReduceOperator::bit_and:
      return reduce_kernel<Bits, BitAnd>;
    case ReduceOperator::bit_or:
      return reduce_kernel<Bits, BitOr>;
    case ReduceOperator::bit_xor:
      return reduce_kernel<Bits, BitXor>;
    default:
      return nullptr;
  }
}

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::cpu {
HWY_EXPORT(integer_bits);
ReduceKernel find_integer_bits(ReduceOperator op) { return HWY_DYNAMIC_DISPATCH(integer_bits)(op); }
}  // namespace rondo::cpu
#endif
