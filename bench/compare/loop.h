// One way of measuring for every library compared: the same buffers, data, loop and output.
//
// Input and output rotate over several buffers, whose inputs are written anew before every sample,
// so that data is as fresh as a program's own results are. A sample is the mean of many calls back
// to back where one is too short for a clock. Samples are averaged over the ranks by the library
// under test. The last result of each size is compared element by element.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace rondo::compare {

/// Fixed by the size alone, so that all ranks and all libraries do the same.
struct Plan {
  std::size_t bytes;
  int calls;  ///< back to back in one sample
  int samples;
  std::size_t buffers;  ///< rotated over
};

inline Plan plan_for(std::size_t bytes) {
  constexpr std::size_t kilobyte = 1024;
  constexpr std::size_t megabyte = 1024 * kilobyte;
  if (bytes <= 4 * kilobyte) return {bytes, 1000, 25, 4};
  if (bytes <= 64 * kilobyte) return {bytes, 200, 25, 4};
  if (bytes <= 256 * kilobyte) return {bytes, 50, 25, 4};
  if (bytes <= megabyte) return {bytes, 15, 25, 4};
  if (bytes <= 16 * megabyte) return {bytes, 2, 15, 4};
  return {bytes, 1, 10, 2};
}

/// What sample `salt` adds up: small whole numbers, so that every order gives the same floats.
inline float element(std::size_t index, std::size_t salt, int rank) {
  return static_cast<float>((index * 7 + salt) % 1021 + static_cast<std::size_t>(rank) + 1);
}

inline std::size_t count_wrong(const std::vector<float>& result, std::size_t salt, int ranks) {
  std::size_t wrong = 0;
  for (std::size_t index = 0; index < result.size(); ++index) {
    float expected = 0;
    for (int rank = 0; rank < ranks; ++rank) expected += element(index, salt, rank);
    wrong += result[index] != expected;
  }
  return wrong;
}

/// RANK-th of the allowed cores, when COMPARE_BIND is set.
inline void bind_core(int rank) {
  if (std::getenv("COMPARE_BIND") == nullptr) return;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  for (int core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || seen++ != rank) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    sched_setaffinity(0, sizeof(own), &own);
    return;
  }
}

/// AllReduce: void(const float* input, float* output, std::size_t count), summing.
template <class AllReduce>
class Loop {
 public:
  Loop(int rank, int ranks, AllReduce all_reduce)
      : rank_(rank), ranks_(ranks), all_reduce_(std::move(all_reduce)) {}

  /// Measures every size of "8,1024,..." and prints one JSON line each on rank 0. Returns the
  /// number of wrong elements on this rank.
  std::size_t run(const std::string& sizes) {
    std::size_t wrong = 0;
    std::istringstream list(sizes);
    for (std::string size; std::getline(list, size, ',');) {
      wrong += measure(plan_for(std::stoul(size)));
    }
    return wrong;
  }

 private:
  void fill(std::vector<float>& buffer, std::size_t salt) const {
    for (std::size_t index = 0; index < buffer.size(); ++index) {
      buffer[index] = element(index, salt, rank_);
    }
  }

  void barrier() {
    const float one = 1;
    float sum = 0;
    all_reduce_(&one, &sum, 1);
  }

  std::size_t measure(const Plan& plan) {
    const std::size_t count = plan.bytes / sizeof(float);
    std::vector<std::vector<float>> inputs(plan.buffers, std::vector<float>(count));
    std::vector<std::vector<float>> outputs(plan.buffers, std::vector<float>(count, -1.0F));
    std::vector<float> microseconds;
    std::size_t salt = 0;
    for (int sample = -1; sample < plan.samples; ++sample) {  // the first one warms up
      for (auto& input : inputs) fill(input, ++salt);
      barrier();
      barrier();
      const auto start = std::chrono::steady_clock::now();
      for (int call = 0; call < plan.calls; ++call) {
        const std::size_t slot = static_cast<std::size_t>(call) % plan.buffers;
        all_reduce_(inputs[slot].data(), outputs[slot].data(), count);
      }
      const std::chrono::duration<float, std::micro> time =
          std::chrono::steady_clock::now() - start;
      if (sample >= 0) microseconds.push_back(time.count() / static_cast<float>(plan.calls));
    }
    const std::size_t last = (static_cast<std::size_t>(plan.calls) - 1) % plan.buffers;
    const std::size_t wrong = count_wrong(outputs[last], salt - (plan.buffers - 1) + last, ranks_);
    report(plan, microseconds, wrong);
    return wrong;
  }

  void report(const Plan& plan, const std::vector<float>& own, std::size_t wrong) {
    std::vector<float> sum(own.size());
    all_reduce_(own.data(), sum.data(), own.size());
    if (rank_ != 0) return;
    std::string line = "{\"bytes\": " + std::to_string(plan.bytes) +
                       ", \"wrong\": " + std::to_string(wrong) + ", \"us\": [";
    for (std::size_t sample = 0; sample < sum.size(); ++sample) {
      line += (sample == 0 ? "" : ", ") + std::to_string(sum[sample] / static_cast<float>(ranks_));
    }
    std::printf("%s]}\n", line.c_str());
    std::fflush(stdout);
  }

  int rank_;
  int ranks_;
  AllReduce all_reduce_;
};

/// main()'s body for a driver whose only argument is the list of sizes.
template <class AllReduce>
int run_loop(int argc, char** argv, int rank, int ranks, AllReduce all_reduce) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s SIZE,SIZE,...   (bytes)\n", argv[0]);
    return 2;
  }
  return Loop<AllReduce>(rank, ranks, std::move(all_reduce)).run(argv[1]) == 0 ? 0 : 1;
}

}  // namespace rondo::compare
