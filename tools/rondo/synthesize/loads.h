// What trees load, and what trees cost where what they load has prices.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/rondo/synthesize/network.h"
#include "tools/rondo/synthesize/tree.h"

namespace rondo::tool {

/// Which way the data go along the edges of a tree.
enum class Direction : std::uint8_t {
  down,  ///< from the root to all
  up,    ///< to the root, added up
  both   ///< up, then down: the edges are the same
};

/// Seconds a byte of all bytes, by resource; behind them the ranks, where the number of messages
/// counts. Or the prices of these.
using Loads = std::vector<double>;

double largest(const Loads& loads);

/// What one tree carries.
struct Cargo {
  Direction direction = Direction::down;
  double share = 0;  ///< of all bytes
  /// Each end of a message costs its rank half of alpha, divided by so many bytes. 0: nothing.
  double bytes = 0;
};

/// By edge, parent to child: the price of what the cargo loads there.
PairTable prices_of(const Network& network, const Cargo& cargo, const Loads& prices);

double price_of(const PairTable& prices, const Tree& tree);

/// Adds the tree's load so many times.
void add_load(const Network& network, const Cargo& cargo, const Tree& tree, Loads& loads,
              double times = 1);

}  // namespace rondo::tool
