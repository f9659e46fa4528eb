// Two-shot: two rounds and least traffic where every rank reaches every other. See two_shot.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule two_shot_all_reduce(int ranks, int root);
Schedule two_shot_reduce(int ranks, int root);

}  // namespace rondo
