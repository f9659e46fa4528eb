// One rank's steps in one lane of every algorithm; NAME.cc has those that begin with NAME. table.cc
// gives them their names. The plain trees are in tree.h.
#pragma once

#include "algorithms/geometry.h"
#include "core/schedule/steps.h"

namespace rondo {

Steps ring_all_reduce(RankInLane at);
Steps ring_reduce_scatter(RankInLane at);
Steps ring_all_gather(RankInLane at);

Steps two_shot_all_reduce(RankInLane at);
Steps two_shot_reduce(RankInLane at);

Steps circulant_all_reduce(RankInLane at);
Steps circulant_reduce_scatter(RankInLane at);
Steps circulant_all_gather(RankInLane at);

Steps one_shot_all_reduce(RankInLane at);
Steps one_shot_reduce_scatter(RankInLane at);
Steps one_shot_all_gather(RankInLane at);
Steps one_shot_broadcast(RankInLane at);
Steps one_shot_reduce(RankInLane at);
Steps one_shot_scan(RankInLane at);
Steps one_shot_exclusive_scan(RankInLane at);

Steps recursive_doubling_all_reduce(RankInLane at);
Steps recursive_doubling_scan(RankInLane at);
Steps recursive_doubling_exclusive_scan(RankInLane at);

Steps chain_scan(RankInLane at);
Steps chain_exclusive_scan(RankInLane at);

Steps binomial_tree_reduce_scatter(RankInLane at);
Steps binomial_tree_all_gather(RankInLane at);
Steps binomial_tree_scatter(RankInLane at);
Steps binomial_tree_gather(RankInLane at);

Steps pairwise_all_to_all(RankInLane at);
Steps bruck_all_to_all(RankInLane at);

Steps linear_all_to_all(RankInLane at);
Steps linear_scatter(RankInLane at);
Steps linear_gather(RankInLane at);
Steps linear_send_recv(RankInLane at);

Steps dissemination_barrier(RankInLane at);

}  // namespace rondo
