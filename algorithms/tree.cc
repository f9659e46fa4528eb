#include "algorithms/tree.h"

namespace rondo {

Steps reduce_up(TreeNode node, Chunk value, Chunk sum, int phase) {
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
    co_yield receive_reduce(child->peer, value, sum, Order::local_first)
        .at(phase, node.reduce_round(*child));
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

}  // namespace rondo
