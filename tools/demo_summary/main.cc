// demo_summary REPORT: prints the closing text of tools/demo.
//
// tools/demo runs it under rondorun after the benchmark, with the same number of ranks. All of them
// measure how fast memory can be copied; rank 0 prints.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "rondo/rondo.h"
#include "tools/demo_summary/summary.h"

namespace {

using rondo::demo::Sweep;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw rondo::Error(rondo::ErrorCode::invalid_argument, "cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Seconds until every rank has copied its buffer, the best of some rounds. The ranks copy at the
// same time, so ranks that share a core share it here, too. The first round touches the pages.
double copy_seconds(rondo::Communicator& world, std::size_t bytes) {
  const std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> into(bytes);
  auto best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 10; ++round) {
    world.barrier();
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(into.data(), from.data(), bytes);
    world.barrier();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    double slowest = taken.count();
    world.all_reduce(&slowest, &slowest, 1, rondo::DataType::float64, rondo::ReduceOperator::max);
    best = std::min(best, slowest);
  }
  return best;
}

void describe_choices(const rondo::Communicator& world, Sweep& sweep) {
  for (auto& row : sweep.rows) {
    row.choice = world.describe(rondo::Collective::all_reduce, row.bytes / sizeof(float),
                                rondo::DataType::float32);
  }
}

void run(const std::string& report) {
  auto world = rondo::Communicator::from_environment();
  auto sweep = rondo::demo::read_report(read_file(report), world.size());
  describe_choices(world, sweep);
  sweep.copy_seconds = copy_seconds(world, sweep.rows.back().bytes);
  if (world.rank() == 0) {
    std::cout << rondo::demo::summary(sweep, std::thread::hardware_concurrency());
  }
  world.finalize();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: demo_summary REPORT   (REPORT: a file written by all_reduce_perf -J)\n";
    return 2;
  }
  try {
    run(argv[1]);
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << "\n";
    return 1;
  }
}
