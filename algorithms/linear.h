// Linear: every message straight from its source to its destination. See linear.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule linear_all_to_all(int ranks, int root);
Schedule linear_scatter(int ranks, int root);
Schedule linear_gather(int ranks, int root);
/// One message, from `root` to the next rank.
Schedule linear_send_recv(int ranks, int root);

}  // namespace rondo
