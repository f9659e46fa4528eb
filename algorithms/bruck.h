// Bruck: all-to-all in the least number of messages, for short blocks. See bruck.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule bruck_all_to_all(int ranks, int root);

}  // namespace rondo
