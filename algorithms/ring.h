// Ring algorithms: no more bytes than necessary, and only neighbours talk. See ring.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule ring_all_reduce(int ranks, int root);
Schedule ring_reduce_scatter(int ranks, int root);
Schedule ring_all_gather(int ranks, int root);

/// Half of every chunk goes each way round, each half in its own lane.
Schedule bidirectional_ring_all_reduce(int ranks, int root);
Schedule bidirectional_ring_reduce_scatter(int ranks, int root);
Schedule bidirectional_ring_all_gather(int ranks, int root);

/// Chunks travel in halves, one after the other. While one is added up the other one travels.
Schedule segmented_ring_all_reduce(int ranks, int root);
Schedule segmented_ring_reduce_scatter(int ranks, int root);
Schedule segmented_ring_all_gather(int ranks, int root);

/// Once round the ring, from the root or to it: the same steps as the chain.
Schedule ring_broadcast(int ranks, int root);
Schedule ring_reduce(int ranks, int root);

}  // namespace rondo
