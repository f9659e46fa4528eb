// Recursive doubling: fewest rounds for short vectors. See recursive_doubling.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule recursive_doubling_all_reduce(int ranks, int root);

}  // namespace rondo
