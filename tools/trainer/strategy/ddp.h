// Data parallelism: every rank holds the whole model. Gradients are averaged in buckets while the
// backward pass goes on.
#pragma once

#include <memory>

#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

std::unique_ptr<Strategy> make_ddp(const Workplace& place, const StrategyOptions& options);

}  // namespace rondo::train
