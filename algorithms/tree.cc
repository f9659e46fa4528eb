#include "algorithms/tree.h"

#include <ranges>
#include <utility>

#include "algorithms/compose.h"

namespace rondo {

Steps reduce_up(TreeNode node, Chunk value, Chunk sum, int phase) {
  for (const Edge& child : node.children | std::views::reverse) {
    co_yield receive_reduce(child.peer, value, sum, Order::local_first)
        .at(phase, node.reduce_round(child));
    value = sum;
  }
  if (!node.is_root()) {
    co_yield send(node.parent.peer, value).at(phase, node.reduce_round(node.parent));
  } else if (node.children.empty()) {
    co_yield copy(value, sum).at(phase, 0);
  }
}

Steps broadcast_down(TreeNode node, Chunk source, Chunk destination, int phase) {
  const Chunk value = node.is_root() ? source : destination;
  if (!node.is_root()) co_yield receive(node.parent.peer, value).at(phase, node.parent.level);
  for (const Edge& child : node.children) {
    co_yield send(child.peer, value).at(phase, child.level);
  }
  if (value != destination) co_yield copy(value, destination).at(phase, 0);
}

namespace {

Steps tree_steps(Collective collective, TreeNode node, int lane) {
  const Chunk sum = node.is_root() ? output(lane) : scratch(0, lane);
  switch (collective) {
    case Collective::broadcast:
      return broadcast_down(std::move(node), input(lane), output(lane), 0);
    case Collective::reduce:
      return reduce_up(std::move(node), input(lane), sum, 0);
    default:
      return in_order(reduce_up(node, input(lane), sum, 0),
                      broadcast_down(node, output(lane), output(lane), 1));
  }
}

}  // namespace

Schedule tree_schedule(Collective collective, std::string algorithm, int ranks, int root, int lanes,
                       PlaceInTree place) {
  Schedule schedule{.collective = collective,
                    .algorithm = std::move(algorithm),
                    .ranks = ranks,
                    .root = root,
                    .lanes = lanes,
                    .layout = make_layout(collective, ranks, lanes)};
  if (collective != Collective::broadcast) schedule.phases.push_back("reduce");
  if (collective != Collective::reduce) schedule.phases.push_back("broadcast");
  const int top = collective == Collective::all_reduce ? 0 : root;
  schedule.steps = [=](int rank, int lane) {
    return tree_steps(collective, place(rank, ranks, top, lane), lane);
  };
  return schedule;
}

}  // namespace rondo
