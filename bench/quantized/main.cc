// all_reduce_quantized_perf: an all-reduce of float32 with 8 bits a value on the way, beside the usual one.
//
// Both take turns on the same fresh data, values of a normal distribution. Every element of the quantised
// one is compared with the exact sum:
//
//   error   root mean square of the difference, in % of that of the exact sum
//   bytes   what the busiest rank sent for it, in % of the usual one's
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "bench/common/side_program.h"
#include "bench/common/statistics.h"
#include "rondo/quantized.h"
#include "rondo/rondo.h"

namespace rondo::bench {
namespace {

struct Options {
  Sizes sizes{std::size_t{64} << 10, std::size_t{16} << 20, 4};
  int iterations = 10;
};

/// A rank's values in one iteration. Any rank can make those of any other.
void fill(std::vector<float>& values, int rank, int iteration) {
  std::mt19937 random(static_cast<unsigned>(rank * 1000 + iteration));
  std::normal_distribution<float> normal;
  std::ranges::generate(values, [&] { return normal(random); });
}

/// Sums of squares: of the differences, and of the exact sums.
struct Squares {
  double differences = 0;
  double sums = 0;
};

Squares compare(const std::vector<float>& got, int ranks, int iteration) {
  std::vector<double> exact(got.size());
  std::vector<float> values(got.size());
  for (int rank = 0; rank < ranks; ++rank) {
    fill(values, rank, iteration);
    for (std::size_t i = 0; i < values.size(); ++i) exact[i] += static_cast<double>(values[i]);
  }
  Squares squares;
  for (std::size_t i = 0; i < got.size(); ++i) {
    squares.differences += std::pow(static_cast<double>(got[i]) - exact[i], 2);
    squares.sums += exact[i] * exact[i];
  }
  return squares;
}

/// Seconds of one call, from when all ranks have come, and the bytes that this rank sent for it.
template <class Call>
double timed(Communicator& world, std::uint64_t& bytes, Call call) {
  world.barrier();
  const std::uint64_t before = world.traffic().payload_bytes;
  const auto begin = std::chrono::steady_clock::now();
  call();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  bytes += world.traffic().payload_bytes - before;
  double seconds = took.count();
  world.all_reduce(seconds, ReduceOperator::max);  // of the slowest rank
  return seconds;
}

void measure(Communicator& world, std::size_t size, int iterations) {
  std::vector<float> usual(size / sizeof(float));
  std::vector<float> quantized(usual.size());
  std::vector<double> seconds[2];
  std::uint64_t bytes[2]{};
  Squares all;
  for (int i = -1; i < iterations; ++i) {  // the first one warms up
    fill(usual, world.rank(), i);
    quantized = usual;
    std::uint64_t sent[2]{};
    const double first = timed(world, sent[0], [&] { world.all_reduce(usual); });
    const double second = timed(world, sent[1], [&] { all_reduce_quantized(world, quantized); });
    if (i < 0) continue;
    seconds[0].push_back(first);
    seconds[1].push_back(second);
    for (const int which : {0, 1}) bytes[which] += sent[which];
    const Squares squares = compare(quantized, world.size(), i);
    all.differences += squares.differences;
    all.sums += squares.sums;
  }
  for (std::uint64_t& each : bytes) world.all_reduce(each, ReduceOperator::max);
  if (world.rank() != 0) return;
  const double times[2]{statistics_of(seconds[0]).p50, statistics_of(seconds[1]).p50};
  const double share =
      static_cast<double>(bytes[1]) / static_cast<double>(std::max<std::uint64_t>(bytes[0], 1));
  std::printf("%12zu %12.1f %12.1f %8.2f %8.1f %8.3f\n", size, times[0] * 1e6, times[1] * 1e6,
              times[0] / times[1], share * 100, std::sqrt(all.differences / all.sums) * 100);
  std::fflush(stdout);
}

void run(const Options& options) {
  auto world = Communicator::from_environment();
  if (world.rank() == 0)
    std::printf(
        "# %d ranks, medians of %d calls, of the slowest rank\n%12s %12s %12s %8s %8s %8s\n",
        world.size(), options.iterations, "size (B)", "float32 (us)", "8 bits (us)", "faster",
        "bytes %", "error %");
  options.sizes.each([&](std::size_t size) { measure(world, size, options.iterations); });
  world.finalize();
}

}  // namespace
}  // namespace rondo::bench

int main(int argc, char** argv) {
  rondo::bench::Options options;
  CLI::App app(
      "Measures an all-reduce of float32 whose values travel as 8-bit numbers "
      "(rondo/quantized.h),\n"
      "beside the usual one, and how far its sums are off.",
      "all_reduce_quantized_perf");
  rondo::bench::add_sizes(app, options.sizes, sizeof(float));
  app.add_option("-n,--iters", options.iterations, "calls of each kind and size")
      ->check(CLI::Range(1, 1'000'000));
  return rondo::bench::run_side_program(app, argc, argv, [&] { rondo::bench::run(options); });
}
