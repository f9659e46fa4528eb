// Chain: least traffic for broadcast and reduce, pipelined by the executors' slices. See chain.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule chain_all_reduce(int ranks, int root);
Schedule chain_broadcast(int ranks, int root);
Schedule chain_reduce(int ranks, int root);

}  // namespace rondo
