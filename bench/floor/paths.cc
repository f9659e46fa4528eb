#include "bench/floor/paths.h"

#include <array>

#include "core/schedule/formula.h"

namespace rondo::bench {
namespace {

// These count the bytes of one rank, in N. A copy of x counts 2x. An addition of two vectors of x
// counts 3x.
constexpr std::array table{
    // Each rank reads N/P of every input and writes N/P of every output.
    Path{"direct_two_shot", "2", "2", false},
    // Each rank copies its input to the control block (2), reads P copies and writes the result (P+1).
    Path{"direct_one_shot", "P+3", "1", false},
    // In N/P: P-1 sends count 2 each, a sum of P operands P+1, P-1 sends 2 each, and P-1 receives 2
    // each.
    Path{"slots_two_shot", "(7P-5)/P", "2", false},
    // In N/P: the first send counts 2. Receiving, adding and sending counts 3, P-2 times. The last sum
    // counts 3, its send 2. A receive and a send count 2 each, P-2 times. The last receive counts 2.
    Path{"slots_ring", "(7P-5)/P", "2(P-1)", false},
    // In N: P-1 sends count 2 each, and a sum of P operands P+1.
    Path{"slots_one_shot", "3P-1", "1", false},
    // Blocks to their owners, then sums to everybody; by the ring both go around.
    Path{"tcp_two_shot", "2(P-1)/P", "2", true},
    Path{"tcp_ring", "2(P-1)/P", "2(P-1)", true},
};

}  // namespace

double Path::touched(int ranks) const { return evaluate(touched_by, cost_variables(ranks)); }
int Path::messages(int ranks) const {
  return static_cast<int>(evaluate(messages_of, cost_variables(ranks)));
}

std::span<const Path> paths() { return table; }

double floor_seconds(const Path& path, const Floor& floor, std::size_t bytes, int ranks) {
  if (ranks < 2) return 0;
  const double rate = path.network ? floor.network_rate : floor.memory_rate;
  const double message = path.network ? floor.network_seconds : floor.exchange_seconds;
  const double all = path.touched(ranks) * static_cast<double>(bytes) * ranks;
  return (rate > 0 ? all / rate : 0) + path.messages(ranks) * message;
}

}  // namespace rondo::bench
