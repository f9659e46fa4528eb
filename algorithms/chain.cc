// Chain. The vector runs along a line of ranks, cut into slices so that every link works at once.
//
//   broadcast   root -> root+1 -> ... -> root-1
//   reduce      root <- root+1 <- ... <- root-1
//   all_reduce  the reduction to rank 0, then the broadcast from it
//
// Cost           rounds   hops     sent         reduced
//   all_reduce   2(P-1)   2(P-1)   min(2,P-1)   1
//   broadcast    P-1      P-1      1            0
//   reduce       P-1      P-1      1            1
//
// In s slices a broadcast takes P-2+s rounds of N/s each.
#include "algorithms/chain.h"

#include "algorithms/tree.h"

namespace rondo {
namespace {

TreeNode place(int rank, int ranks, int root, int) { return chain_node(rank, ranks, root); }

}  // namespace

Schedule chain_all_reduce(int ranks, int root) {
  return tree_schedule(Collective::all_reduce, "chain", ranks, root, 1, place);
}
Schedule chain_broadcast(int ranks, int root) {
  return tree_schedule(Collective::broadcast, "chain", ranks, root, 1, place);
}
Schedule chain_reduce(int ranks, int root) {
  return tree_schedule(Collective::reduce, "chain", ranks, root, 1, place);
}

}  // namespace rondo
