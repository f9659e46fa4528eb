// One-shot: everybody tells everybody, least latency for short messages. See one_shot.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule one_shot_all_reduce(int ranks, int root);
Schedule one_shot_reduce_scatter(int ranks, int root);
Schedule one_shot_all_gather(int ranks, int root);
Schedule one_shot_broadcast(int ranks, int root);
Schedule one_shot_reduce(int ranks, int root);

/// One rank's steps, for algorithms made of them. Each chunk c belongs to rank c: the sum of its
/// contributions ends in output[c] there.
Steps direct_reduce_scatter(int rank, int ranks, int phase);
/// Each rank's output[rank] ends in everybody's output.
Steps direct_all_gather(int rank, int ranks, int phase);

}  // namespace rondo
