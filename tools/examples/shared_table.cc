// A table that all ranks fill, each at its own pace. Rank 0 owns it and makes no call for any of the rows.
//
//   rondorun -n 4 shared_table
//
//   rank 1   row 1 --put--> |
//   rank 2   row 2 --put--> | the table on rank 0
//   rank 3   row 3 --put--> |
//
// Row r holds how many divisors the numbers from 1000 r + 1 to 1000 (r + 1) have. Each rank puts its rows,
// then signals. When rank 0 has the signals of all ranks it has all rows, since puts come before signals.
#include <rondo/memory.h>
#include <rondo/rondo.h>
#include <rondo/window.h>

#include <cstdio>
#include <numeric>
#include <vector>

namespace {

constexpr int rows = 16;
constexpr int columns = 1000;

int divisors(int number) {
  int count = 0;
  for (int i = 1; i <= number; ++i) count += number % i == 0 ? 1 : 0;
  return count;
}

std::vector<int> make_row(int row) {
  std::vector<int> made(columns);
  for (int i = 0; i < columns; ++i) made[i] = divisors(row * columns + i + 1);
  return made;
}

/// By another way: each number is a divisor of all its multiples.
long long all_divisors() {
  long long sum = 0;
  for (int i = 1; i <= rows * columns; ++i) sum += rows * columns / i;
  return sum;
}

}  // namespace

int main() {
  try {
    auto world = rondo::Communicator::from_environment();
    const bool owner = world.rank() == 0;
    // In memory from allocate(), ranks of the same host write to it directly.
    const rondo::Memory memory = rondo::allocate(owner ? rows * columns * sizeof(int) : 0);
    rondo::Window window(world, memory.data(), memory.size());
    for (int row = world.rank(); row < rows; row += world.size())
      window.put(make_row(row), 0, static_cast<std::size_t>(row) * columns);
    window.signal(0);
    int right = 1;
    if (owner) {
      for (int rank = 0; rank < world.size(); ++rank) window.wait_signal(rank);
      const auto table = memory.as<int>();
      const long long sum = std::accumulate(table.begin(), table.end(), 0LL);
      right = sum == all_divisors() ? 1 : 0;
      std::printf("the numbers up to %d have %lld divisors: %s\n", rows * columns, sum,
                  right != 0 ? "right" : "wrong");
    }
    window.close();
    world.broadcast(right, 0);
    world.finalize();
    return right != 0 ? 0 : 1;
  } catch (const rondo::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
