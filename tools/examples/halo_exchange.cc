// Heat in a rod, cut into one piece for each rank. Neighbours exchange the cells at their borders.
//
//   rondorun -n 4 halo_exchange
//
// A rank stores its cells between two ghost cells, which hold its neighbours' border cells:
//
//   rank 0   |g| 0 1 2 |g|
//   rank 1         |g| 3 4 5 |g|
//
// In each step the ranks fill their ghost cells by messages and then update their own cells. At the
// end rank 0 gathers all cells and compares them with those that it computes alone.
#include <rondo/rondo.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t cells = 1000;
constexpr int steps = 500;

/// The rod at the start: hot in the middle. The cells beyond its ends stay at 0.
double initial(std::size_t cell) { return cell >= 400 && cell < 600 ? 1.0 : 0.0; }

/// One step for all cells but the first and the last, which are ghosts.
void update(std::vector<double>& rod, std::vector<double>& next) {
  for (std::size_t i = 1; i + 1 < rod.size(); ++i)
    next[i] = rod[i] + 0.25 * (rod[i - 1] - 2 * rod[i] + rod[i + 1]);
  std::swap(rod, next);
}

/// Cells `begin` to `end` between two ghosts.
std::vector<double> piece(std::size_t begin, std::size_t end) {
  std::vector<double> rod(end - begin + 2, 0.0);
  for (std::size_t i = begin; i < end; ++i) rod[i - begin + 1] = initial(i);
  return rod;
}

void exchange(rondo::Communicator& world, std::vector<double>& rod) {
  const std::size_t last = rod.size() - 2;
  rondo::Group group;  // all four messages at once, in whatever order the neighbours make them
  if (world.rank() > 0) {
    world.send(rod[1], world.rank() - 1);
    world.recv(rod[0], world.rank() - 1);
  }
  if (world.rank() + 1 < world.size()) {
    world.send(rod[last], world.rank() + 1);
    world.recv(rod[last + 1], world.rank() + 1);
  }
  group.wait();
}

}  // namespace

int main() {
  try {
    auto world = rondo::Communicator::from_environment();
    const auto ranks = static_cast<std::size_t>(world.size());
    const auto rank = static_cast<std::size_t>(world.rank());
    std::vector<double> rod = piece(cells * rank / ranks, cells * (rank + 1) / ranks);
    std::vector<double> next = rod;
    for (int step = 0; step < steps; ++step) {
      exchange(world, rod);
      update(rod, next);
    }

    std::vector<std::size_t> counts(ranks);  // pieces differ by a cell where P does not divide them
    for (std::size_t r = 0; r < ranks; ++r) counts[r] = cells * (r + 1) / ranks - cells * r / ranks;
    std::vector<double> whole(rank == 0 ? cells : 0);
    world.gather_v(std::span(rod).subspan(1, counts[rank]), whole, counts, 0);
    double difference = 0;
    if (rank == 0) {
      std::vector<double> alone = piece(0, cells);
      next = alone;
      for (int step = 0; step < steps; ++step) update(alone, next);
      for (std::size_t i = 0; i < cells; ++i)
        difference = std::max(difference, std::abs(whole[i] - alone[i + 1]));
      std::printf("%zu cells on %zu ranks, %d steps: greatest difference from one rank %g\n", cells,
                  ranks, steps, difference);
    }
    world.broadcast(difference, 0);
    world.finalize();
    return difference < 1e-12 ? 0 : 1;
  } catch (const rondo::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
