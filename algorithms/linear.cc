// Linear. Every block goes straight from its source to its destination. No block waits for another.
//
//   scatter                 gather                  all_to_all         send_recv
//     root --> every rank     root <-- every rank     all <--> all       root --> root+1
//
// Cost           rounds   hops   sent      reduced
//   all_to_all   P-1      1      (P-1)/P   0
//   scatter      P-1      1      (P-1)/P   0
//   gather       P-1      1      1/P       0
//   send_recv    1        1      1         0
#include "algorithms/builders.h"
#include "algorithms/compose.h"
#include "algorithms/direct.h"

namespace rondo {

Steps linear_all_to_all(RankInLane at) {
  return in_order(send_blocks(at, 0), receive_blocks(at, 0), copy_own(at));
}

Steps linear_scatter(RankInLane at) {
  if (at.rank != at.root) return just(receive(at.root, output(at.rank)));
  return in_order(send_blocks(at, 0), copy_own(at));
}

Steps linear_gather(RankInLane at) {
  if (at.rank != at.root) return just(send(at.root, input(at.rank)));
  return in_order(receive_blocks(at, 0), copy_own(at));
}

Steps linear_send_recv(RankInLane at) {
  const int destination = wrap(at.root + 1, at.ranks);
  if (at.ranks == 1) co_return;
  if (at.rank == at.root) co_yield send(destination, input(0));
  if (at.rank == destination) co_yield receive(at.root, output(0));
}

}  // namespace rondo
