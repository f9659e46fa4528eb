// One-shot: every rank sends to every rank, least latency for short messages. See one_shot.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule one_shot_all_reduce(int ranks, int root);
Schedule one_shot_reduce_scatter(int ranks, int root);
Schedule one_shot_all_gather(int ranks, int root);
Schedule one_shot_broadcast(int ranks, int root);
Schedule one_shot_reduce(int ranks, int root);
Schedule one_shot_barrier(int ranks, int root);

}  // namespace rondo
