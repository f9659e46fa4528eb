#include "tools/rondo/synthesize/loads.h"

#include <algorithm>

namespace rondo::tool {
namespace {

/// Calls add(resource, load) for each thing that an edge of a tree loads. Behind the network's
/// resources stand the ranks themselves: each end of a message costs them half of alpha.
template <class Add>
void along(const Network& network, const Cargo& cargo, int parent, int child, const Add& add) {
  const auto message = [&](int from, int to) {
    for (const int resource : network.crossed(from, to))
      add(resource, cargo.share * network.beta(resource));
    if (cargo.bytes <= 0) return;
    for (const int rank : {from, to})
      add(network.resources() + rank, network.alpha(from, to) / 2 / cargo.bytes);
  };
  if (cargo.direction != Direction::up) message(parent, child);
  if (cargo.direction != Direction::down) message(child, parent);
}

}  // namespace

PairTable prices_of(const Network& network, const Cargo& cargo, const Loads& prices) {
  PairTable table(network.ranks());
  for (int parent = 0; parent < network.ranks(); ++parent)
    for (int child = 0; child < network.ranks(); ++child)
      if (parent != child)
        along(network, cargo, parent, child, [&](int resource, double load) {
          table.at(parent, child) += prices[at(resource)] * load;
        });
  return table;
}

void add_load(const Network& network, const Cargo& cargo, const Tree& tree, Loads& loads,
              double times) {
  for (int child = 0; child < network.ranks(); ++child) {
    const int parent = tree.parent[at(child)];
    if (parent < 0) continue;
    along(network, cargo, parent, child,
          [&](int resource, double load) { loads[at(resource)] += times * load; });
  }
}

double price_of(const PairTable& prices, const Tree& tree) {
  double sum = 0;
  for (int child = 0; child < prices.ranks(); ++child)
    if (const int parent = tree.parent[at(child)]; parent >= 0) sum += prices.at(parent, child);
  return sum;
}

double largest(const Loads& loads) { return *std::ranges::max_element(loads); }

}  // namespace rondo::tool
