// Computes while an all_reduce is under way, and shows how much time that hides.
//
//   rondorun -n 2 asynchronous_overlap
//
// all_reduce_async returns at once. A thread of rondo's carries the call on while this thread
// computes, so the overlap needs a free core for each rank. The buffer must not be touched until
// wait() returns.
#include <rondo/rondo.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

/// Milliseconds that `body` takes on the slowest rank, all ranks starting together.
template <class Body>
double time_of(rondo::Communicator& world, Body&& body) {
  world.barrier();
  const auto start = std::chrono::steady_clock::now();
  body();
  const auto end = std::chrono::steady_clock::now();
  double milliseconds = std::chrono::duration<double, std::milli>(end - start).count();
  world.all_reduce(milliseconds, rondo::ReduceOperator::max);
  return milliseconds;
}

/// Work that has nothing to do with the buffer.
double compute(int terms) {
  double sum = 0;
  for (int i = 1; i <= terms; ++i) sum += std::sin(1.0 / i);
  return sum;
}

}  // namespace

int main() {
  try {
    auto world = rondo::Communicator::from_environment();
    std::vector<float> values(4 << 20, 1.0F);
    double sum = 0;
    world.all_reduce_async(values).wait();  // the first call also starts a thread
    std::fill(values.begin(), values.end(), 1.0F);

    const double calling = time_of(world, [&] { world.all_reduce(values); });
    const double computing = time_of(world, [&] { sum += compute(1 << 20); });
    std::fill(values.begin(), values.end(), 1.0F);
    const double both = time_of(world, [&] {
      rondo::Work work = world.all_reduce_async(values);
      sum += compute(1 << 20);
      work.wait();
    });

    const auto ranks = static_cast<float>(world.size());
    const bool right = sum > 0 && std::all_of(values.begin(), values.end(),
                                              [&](float value) { return value == ranks; });
    if (world.rank() == 0) {
      std::printf("%d ranks: all_reduce %.1f ms, computing %.1f ms, both %.1f ms: %.1f ms hidden\n",
                  world.size(), calling, computing, both,
                  std::max(0.0, calling + computing - both));
    }
    world.finalize();
    return right ? 0 : 1;
  } catch (const rondo::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
