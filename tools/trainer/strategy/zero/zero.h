// ZeRO: what every rank of plain data parallelism holds is held once, a block by each rank.
//
//            parameters    gradients     optimizer    on the wire in a step of A micro-steps
//   zero1    replicated    replicated    own block    2 (P-1)/P: reduce-scatter, all-gather
//   zero2    replicated    own block     own block    (A+1) (P-1)/P: the former A times
//   zero3    own block     own block     own block    3A (P-1)/P: gathered for forward and backward
//
// in elements of the model, with padding. Beside it a step adds up one number, the norm, over a
// communicator of its own, so that it neither waits behind the model nor is counted with it.
#pragma once

#include <memory>

#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

/// Throw Error{invalid_argument} for options that only ddp has.
std::unique_ptr<Strategy> make_zero1(const Workplace& place, const StrategyOptions& options);
std::unique_ptr<Strategy> make_zero2(const Workplace& place, const StrategyOptions& options);
std::unique_ptr<Strategy> make_zero3(const Workplace& place, const StrategyOptions& options);

}  // namespace rondo::train
