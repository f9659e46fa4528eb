// ZeRO: the data that every rank holds under plain data parallelism are held once, a block by each
// rank.
//
//            parameters    gradients     optimizer    on the wire in a step of A micro-steps
//   zero1    replicated    replicated    own block    2 (P-1)/P: reduce-scatter, all-gather
//   zero2    replicated    own block     own block    (A+1) (P-1)/P: the former A times
//   zero3    own block     own block     own block    3A (P-1)/P: gathered for forward and backward
//
// Bytes are in elements of the model, with padding. A step also adds up one number, the norm. It
// has a communicator of its own, so it does not wait for the model's calls and is not counted with
// them.
#pragma once

#include <memory>

#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

/// They throw Error{invalid_argument} for options that only ddp has.
std::unique_ptr<Strategy> make_zero1(const Workplace& place, const StrategyOptions& options);
std::unique_ptr<Strategy> make_zero2(const Workplace& place, const StrategyOptions& options);
std::unique_ptr<Strategy> make_zero3(const Workplace& place, const StrategyOptions& options);

}  // namespace rondo::train
