// Circulant (Traeff): fewest rounds and least traffic for any number of ranks. See circulant.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule circulant_all_reduce(int ranks, int root);
Schedule circulant_reduce_scatter(int ranks, int root);
Schedule circulant_all_gather(int ranks, int root);

}  // namespace rondo
