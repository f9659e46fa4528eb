// Data parallelism: every rank holds the whole model, and gradients are averaged in buckets while
// backward goes on.
#pragma once

#include <memory>

#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

std::unique_ptr<Strategy> make_ddp(const Workplace& place, const StrategyOptions& options);

}  // namespace rondo::train
