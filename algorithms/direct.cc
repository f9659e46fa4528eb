#include "algorithms/direct.h"

namespace rondo {

Steps tell_everybody(RankInLane at, Chunk value, int phase) {
  for (int hops = 1; hops < at.ranks; ++hops) co_yield send(at.ahead(hops), value).at(phase, 0);
}

Steps send_blocks(RankInLane at, int phase) {
  for (int hops = 1; hops < at.ranks; ++hops)
    co_yield send(at.ahead(hops), input(at.ahead(hops))).at(phase, 0);
}

Steps receive_blocks(RankInLane at, int phase) {
  for (int hops = 1; hops < at.ranks; ++hops)
    co_yield receive(at.behind(hops), output(at.behind(hops))).at(phase, 0);
}

Steps combine(RankInLane at, Chunk into, int phase) {
  const auto chunk = static_cast<int>(into.first);
  for (int peer = 0; peer < at.ranks; ++peer) {
    const Chunk slot = scratch(peer, chunk);
    co_yield (peer == at.rank ? copy(input(chunk), slot) : receive(peer, slot)).at(phase, 0);
  }
  co_yield reduce(scratch(0, chunk), at.ranks, into).at(phase, 0);
}

}  // namespace rondo
