// Combiner: reduces with a kernel that is looked for only when the kind of reduction changes.
#pragma once

#include <cstddef>
#include <span>

#include "core/plan/prepared.h"
#include "kernels/cpu/reduce.h"

namespace rondo::detail {

class Combiner {
 public:
  /// Finds the kernel of a call ahead of time. `factor`: of every result.
  void prepare(const PreparedCall& call, double factor, bool streaming) {
    const bool averages = call.call.op == ReduceOperator::avg;
    const Combination wanted{.type = call.call.type,
                             .op = averages ? ReduceOperator::sum : call.call.op,
                             .factor = factor,
                             .streaming = streaming,
                             .accumulate = call.call.accumulate,
                             .own = call.call.own};
    if (kernel_.combination() != wanted) kernel_ = ReductionKernel(wanted);
  }
  void operator()(std::span<void* const> outputs, std::span<const void* const> operands,
                  std::size_t count) const {
    kernel_(outputs, operands, count);
  }

 private:
  ReductionKernel kernel_{};
};

}  // namespace rondo::detail
