// Trees that together load the network as evenly as they can: each carries a piece of the data.
#pragma once

#include <cstdint>
#include <vector>

#include "rondo/types.h"
#include "tools/rondo/synthesize/loads.h"
#include "tools/rondo/synthesize/network.h"
#include "tools/rondo/synthesize/tree.h"

namespace rondo::tool {

/// A block that has to come from its root to all ranks, or the other way.
struct Demand {
  int root = 0;  ///< -1: any
  Direction direction = Direction::down;
  double share = 1;  ///< of all bytes
};

/// What the trees of a collective have to carry, block by block. Empty: it goes by no trees.
std::vector<Demand> demands_of(Collective collective, int ranks, int root);

/// How trees are found.
struct PackingChoice {
  int pieces = 1;     ///< of each block; each has a tree
  double haste = 0;   ///< 0: bytes alone count; more: trees that end early
  double bytes = 0;   ///< of all blocks together; 0: so many that messages cost nothing by number
  unsigned seed = 0;  ///< of others than 0, each finds other trees where several are as cheap
};

struct Packing {
  std::vector<Tree> trees{};  ///< by demand, then by piece
  double seconds_a_byte = 0;  ///< of the busiest resource
};

Packing pack(const Network& network, const std::vector<Demand>& demands,
             const PackingChoice& choice);

}  // namespace rondo::tool
