#include "tools/rondo/synthesize/tree.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rondo::tool {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// By node: the one from which the cheapest edge comes; -1 for the root.
std::vector<int> cheapest_parents(const PairTable& price, int root) {
  const int nodes = price.ranks();
  std::vector<int> parents(at(nodes), -1);
  for (int to = 0; to < nodes; ++to) {
    if (to == root) continue;
    double best = infinity;
    for (int from = 0; from < nodes; ++from) {
      if (from == to || (parents[at(to)] >= 0 && price.at(from, to) >= best)) continue;
      best = price.at(from, to);
      parents[at(to)] = from;
    }
  }
  return parents;
}

/// The nodes of a cycle; empty if there is none.
std::vector<int> cycle_in(const std::vector<int>& parents) {
  std::vector<int> seen_from(parents.size(), -1);
  for (int start = 0; start < static_cast<int>(parents.size()); ++start) {
    int node = start;
    while (node >= 0 && seen_from[at(node)] < 0) {
      seen_from[at(node)] = start;
      node = parents[at(node)];
    }
    if (node < 0 || seen_from[at(node)] != start) continue;
    std::vector<int> cycle{node};
    for (int next = parents[at(node)]; next != node; next = parents[at(next)])
      cycle.push_back(next);
    return cycle;
  }
  return {};
}

std::vector<int> solve(const PairTable& price, int root);

/// The cycle becomes one node, the last. An edge to it then costs what it adds to the cycle's own.
std::vector<int> without_cycle(const PairTable& price, int root, const std::vector<int>& parents,
                               const std::vector<int>& cycle) {
  const int nodes = price.ranks();
  std::vector<bool> inside(at(nodes));
  for (const int node : cycle) inside[at(node)] = true;
  std::vector<int> kept;
  for (int node = 0; node < nodes; ++node)
    if (!inside[at(node)]) kept.push_back(node);
  const int last = static_cast<int>(kept.size());
  PairTable smaller(last + 1);
  std::vector<int> leaves(at(last), -1);  // by kept node: where in the cycle its edge begins
  std::vector<int> enters(at(last), -1);  // and where an edge from it ends
  int new_root = 0;
  for (int one = 0; one < last; ++one) {
    const int node = kept[at(one)];
    if (node == root) new_root = one;
    for (int other = 0; other < last; ++other)
      smaller.at(one, other) = price.at(node, kept[at(other)]);
    double out = infinity;
    double in = infinity;
    for (const int member : cycle) {
      if (leaves[at(one)] < 0 || price.at(member, node) < out) {
        out = price.at(member, node);
        leaves[at(one)] = member;
      }
      const double adds = price.at(node, member) - price.at(parents[at(member)], member);
      if (enters[at(one)] < 0 || adds < in) {
        in = adds;
        enters[at(one)] = member;
      }
    }
    smaller.at(last, one) = out;
    smaller.at(one, last) = in;
  }
  const std::vector<int> found = solve(smaller, new_root);
  std::vector<int> all = parents;
  for (int one = 0; one < last; ++one)
    if (found[at(one)] >= 0)
      all[at(kept[at(one)])] = found[at(one)] == last ? leaves[at(one)] : kept[at(found[at(one)])];
  const int from = found[at(last)];
  all[at(enters[at(from)])] = kept[at(from)];
  return all;
}

std::vector<int> solve(const PairTable& price, int root) {
  std::vector<int> parents = cheapest_parents(price, root);
  const std::vector<int> cycle = cycle_in(parents);
  return cycle.empty() ? parents : without_cycle(price, root, parents, cycle);
}

/// Edges from a node to all others; the farthest one comes last.
std::vector<int> by_distance(const std::vector<std::vector<int>>& neighbours, int from,
                             std::vector<int>& parents) {
  parents.assign(neighbours.size(), -1);
  std::vector<int> order{from};
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const int other : neighbours[at(order[next])]) {
      if (other == parents[at(order[next])]) continue;
      parents[at(other)] = order[next];
      order.push_back(other);
    }
  }
  return order;
}

}  // namespace

std::vector<int> depths_of(const Tree& tree) {
  std::vector<int> depths(tree.parent.size(), -1);
  for (std::size_t rank = 0; rank < depths.size(); ++rank) {
    std::size_t hops = 0;
    int node = static_cast<int>(rank);
    while (tree.parent[at(node)] >= 0 && hops <= depths.size()) {
      node = tree.parent[at(node)];
      ++hops;
    }
    if (hops > depths.size()) return std::vector<int>(tree.parent.size(), -1);
    depths[rank] = static_cast<int>(hops);
  }
  return depths;
}

Tree cheapest_tree(const PairTable& price, int root) { return {root, solve(price, root)}; }

Tree early_tree(const PairTable& price, const PairTable& hop, const PairTable& busy, int root) {
  const int ranks = price.ranks();
  Tree tree{root, std::vector<int>(at(ranks), -1)};
  std::vector<double> ready(at(ranks), -1);  // -1: not in the tree yet
  ready[at(root)] = 0;
  for (int more = 1; more < ranks; ++more) {
    double least = infinity;
    int parent = -1;
    int child = -1;
    for (int from = 0; from < ranks; ++from) {
      if (ready[at(from)] < 0) continue;
      for (int to = 0; to < ranks; ++to) {
        const double cost = price.at(from, to) + ready[at(from)] + hop.at(from, to);
        if (ready[at(to)] >= 0 || (child >= 0 && cost >= least)) continue;
        least = cost;
        parent = from;
        child = to;
      }
    }
    tree.parent[at(child)] = parent;
    ready[at(child)] = ready[at(parent)] + hop.at(parent, child);
    ready[at(parent)] += busy.at(parent, child);
  }
  return tree;
}

Tree from_centre(const Tree& tree) {
  std::vector<std::vector<int>> neighbours(tree.parent.size());
  for (std::size_t rank = 0; rank < tree.parent.size(); ++rank) {
    if (tree.parent[rank] < 0) continue;
    neighbours[rank].push_back(tree.parent[rank]);
    neighbours[at(tree.parent[rank])].push_back(static_cast<int>(rank));
  }
  // The middle of the longest path: from the node farthest from any, to the one farthest from that.
  std::vector<int> parents;
  const int end = by_distance(neighbours, 0, parents).back();
  std::vector<int> path{by_distance(neighbours, end, parents).back()};
  while (parents[at(path.back())] >= 0) path.push_back(parents[at(path.back())]);
  Tree centred{path[path.size() / 2], {}};
  by_distance(neighbours, centred.root, centred.parent);
  return centred;
}

}  // namespace rondo::tool
