#include "bench/floor/paths.h"

#include <algorithm>
#include <array>

namespace rondo::bench {
namespace {

// These count the bytes of one rank, in N. A copy of x counts 2x. An addition of two vectors of x
// counts 3x.

/// Each rank reads N/P of every input and writes N/P of every output.
double direct_two_shot(int) { return 2; }
/// Each rank copies its input to the control block (2), reads P copies and writes the result (P+1).
double direct_one_shot(int ranks) { return ranks + 3; }
/// In N/P: the first send counts 2. Receiving, adding and sending counts 3, P-2 times. The last sum
/// counts 3, its send 2. A receive and a send count 2 each, P-2 times. The last receive counts 2.
double ring(int ranks) { return (7.0 * ranks - 5) / ranks; }
/// In N/P: P-1 sends count 2 each, a sum of P operands P+1, P-1 sends 2 each, and P-1 receives 2
/// each.
double two_shot(int ranks) { return (7.0 * ranks - 5) / ranks; }
/// In N: P-1 sends count 2 each, and a sum of P operands P+1.
double one_shot(int ranks) { return 3.0 * ranks - 1; }
double sent(int ranks) { return 2.0 * (ranks - 1) / ranks; }

int once(int) { return 1; }
int twice(int) { return 2; }
int around(int ranks) { return 2 * (ranks - 1); }

constexpr std::array table{
    Path{"direct_two_shot", "reads its share of all inputs, writes it to all outputs",
         direct_two_shot, twice, false},
    Path{"direct_one_shot", "copies its input to shared memory, adds up all copies",
         direct_one_shot, once, false},
    Path{"slots_two_shot", "by slots: blocks to their owners, sums to everybody", two_shot, twice,
         false},
    Path{"slots_ring", "by slots: partial sums around, then sums around", ring, around, false},
    Path{"slots_one_shot", "by slots: whole vectors to everybody", one_shot, once, false},
    Path{"tcp_two_shot", "sent: blocks to their owners, sums to everybody", sent, twice, true},
    Path{"tcp_ring", "sent: partial sums around, then sums around", sent, around, true},
};

}  // namespace

std::span<const Path> paths() { return table; }

const Path* find_path(std::string_view name) {
  const auto row =
      std::find_if(table.begin(), table.end(), [&](const Path& path) { return path.name == name; });
  return row == table.end() ? nullptr : &*row;
}

double floor_seconds(const Path& path, const Floor& floor, std::size_t bytes, int ranks) {
  if (ranks < 2) return 0;
  const double rate = path.network ? floor.network_rate : floor.memory_rate;
  const double message = path.network ? floor.network_seconds : floor.exchange_seconds;
  const double all = path.touched(ranks) * static_cast<double>(bytes) * ranks;
  return (rate > 0 ? all / rate : 0) + path.messages(ranks) * message;
}

}  // namespace rondo::bench
