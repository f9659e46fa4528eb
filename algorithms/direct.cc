#include "algorithms/direct.h"

#include "algorithms/geometry.h"

namespace rondo {

Steps tell_everybody(int rank, int ranks, Chunk value, int phase) {
  for (int hops = 1; hops < ranks; ++hops) {
    co_yield send(wrap(rank + hops, ranks), value).at(phase, 0);
  }
}

Steps send_blocks(int rank, int ranks, int phase) {
  for (int hops = 1; hops < ranks; ++hops) {
    const int peer = wrap(rank + hops, ranks);
    co_yield send(peer, input(peer)).at(phase, 0);
  }
}

Steps receive_blocks(int rank, int ranks, int phase) {
  for (int hops = 1; hops < ranks; ++hops) {
    const int peer = wrap(rank - hops, ranks);
    co_yield receive(peer, output(peer)).at(phase, 0);
  }
}

Steps combine(int rank, int ranks, Chunk into, int phase) {
  const auto chunk = static_cast<int>(into.first);
  for (int peer = 0; peer < ranks; ++peer) {
    const Chunk slot = scratch(peer, chunk);
    co_yield (peer == rank ? copy(input(chunk), slot) : receive(peer, slot)).at(phase, 0);
  }
  co_yield reduce(scratch(0, chunk), ranks, into).at(phase, 0);
}

}  // namespace rondo
