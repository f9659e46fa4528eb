// Putting phases together.
#pragma once

#include "core/schedule/steps.h"

namespace rondo {

/// All of `first`, then all of `second`.
Steps in_order(Steps first, Steps second);

/// A single step.
Steps just(Step step);

}  // namespace rondo
