// Pairwise: all-to-all in pairs, one partner a round. See pairwise.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule pairwise_all_to_all(int ranks, int root);

}  // namespace rondo
