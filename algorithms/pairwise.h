// Pairwise: all-to-all with one message in and one out a round. See pairwise.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule pairwise_all_to_all(int ranks, int root);

}  // namespace rondo
