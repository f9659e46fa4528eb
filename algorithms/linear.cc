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
#include "algorithms/linear.h"

#include "algorithms/compose.h"
#include "algorithms/direct.h"
#include "algorithms/geometry.h"

namespace rondo {
namespace {

Steps all_to_all(int rank, int ranks) {
  return in_order(send_blocks(rank, ranks, 0), receive_blocks(rank, ranks, 0),
                  just(copy(input(rank), output(rank))));
}

Steps scatter(int rank, int ranks, int root) {
  if (rank != root) return just(receive(root, output(rank)));
  return in_order(send_blocks(rank, ranks, 0), just(copy(input(rank), output(rank))));
}

Steps gather(int rank, int ranks, int root) {
  if (rank != root) return just(send(root, input(rank)));
  return in_order(receive_blocks(rank, ranks, 0), just(copy(input(rank), output(rank))));
}

Steps send_recv(int rank, int ranks, int root) {
  const int destination = wrap(root + 1, ranks);
  if (ranks == 1) co_return;
  if (rank == root) co_yield send(destination, input(0));
  if (rank == destination) co_yield receive(root, output(0));
}

}  // namespace

Schedule linear_all_to_all(int ranks, int root) {
  return {.collective = Collective::all_to_all,
          .algorithm = "linear",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::all_to_all, ranks, 1),
          .phases = {"exchange"},
          .steps = [ranks](int rank, int) { return all_to_all(rank, ranks); }};
}

Schedule linear_scatter(int ranks, int root) {
  return {.collective = Collective::scatter,
          .algorithm = "linear",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::scatter, ranks, 1),
          .phases = {"scatter"},
          .steps = [ranks, root](int rank, int) { return scatter(rank, ranks, root); }};
}

Schedule linear_gather(int ranks, int root) {
  return {.collective = Collective::gather,
          .algorithm = "linear",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::gather, ranks, 1),
          .phases = {"gather"},
          .steps = [ranks, root](int rank, int) { return gather(rank, ranks, root); }};
}

Schedule linear_send_recv(int ranks, int root) {
  return {.collective = Collective::send_recv,
          .algorithm = "linear",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::send_recv, ranks, 1),
          .phases = {"message"},
          .steps = [ranks, root](int rank, int) { return send_recv(rank, ranks, root); }};
}

}  // namespace rondo
