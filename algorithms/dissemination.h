// Dissemination: a barrier in the least number of rounds. See dissemination.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule dissemination_barrier(int ranks, int root);

}  // namespace rondo
