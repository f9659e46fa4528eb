// Measures how fast the CPU reductions are, through the caches and past them. Two threads on two
// cores, each with buffers of its own, reduce float32 sums at once. Not a test. Run it alone on a
// machine:
//
//   kernels_speed [BYTES PER BUFFER]...
//
// GB/s (1e9) are bytes read and written by both threads, over the time of the slower one: the
// median of several rounds in which both ways take turns. What the outputs were before each round:
//
//   own    written by the same core
//   other  written by the other core
//   cold   in no cache
#include <hwy/cache_control.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cpu/reduce.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t threads = 2;
constexpr std::size_t most_buffers = 8;

enum class Before { own, other, cold };
constexpr std::array<const char*, 3> before_names{"own", "other", "cold"};

struct Shape {
  std::size_t bytes;
  std::size_t operands;
  std::size_t outputs;
};

/// Pins the calling thread to the i-th of the allowed cores.
void pin(const cpu_set_t& allowed, std::size_t i) {
  std::size_t seen = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || seen++ != i) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
}

/// Both threads arrive before either leaves. Spins: sleeping would be in the measured time.
class Meeting {
 public:
  void meet() {
    const std::size_t arrived = arrivals_.fetch_add(1, std::memory_order_acq_rel) + 1;
    const std::size_t needed = (arrived + threads - 1) / threads * threads;
    // Acquire: pairs with the other thread's acquire-release addition above.
    while (arrivals_.load(std::memory_order_acquire) < needed) std::this_thread::yield();
  }

 private:
  std::atomic<std::size_t> arrivals_{0};
};

/// One thread's memory: operands, then outputs, each `bytes` long and on pages of its own.
struct Memory {
  std::vector<std::byte> bytes;
  std::byte* buffer(const Shape& shape, std::size_t i) {
    const std::size_t page = 4096;
    const auto start = reinterpret_cast<std::uintptr_t>(bytes.data());
    return bytes.data() + (page - start % page) + i * (shape.bytes + page);
  }
};

class Measurement {
 public:
  Measurement(const cpu_set_t& cores, Shape shape, Before before)
      : cores_(cores), shape_(shape), before_(before) {}

  /// Median GB/s: through the caches, and past them.
  std::array<double, 2> run() {
    std::thread second([this] { work(1); });
    work(0);
    second.join();
    std::array<double, 2> result{};
    const std::size_t moved = threads * shape_.bytes * (shape_.operands + shape_.outputs);
    for (std::size_t way = 0; way < 2; ++way) {
      std::vector<double>& times = times_[way];
      std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
      result[way] = static_cast<double>(moved) / times[times.size() / 2] / 1e9;
    }
    return result;
  }

 private:
  void prepare(std::size_t thread) {
    const std::size_t writer = before_ == Before::other ? 1 - thread : thread;
    for (std::size_t i = 0; i < shape_.outputs; ++i) {
      std::byte* output = memory_[writer].buffer(shape_, shape_.operands + i);
      std::memset(output, 1, shape_.bytes);
      if (before_ != Before::cold) continue;
      for (std::size_t at = 0; at < shape_.bytes; at += 64) hwy::FlushCacheline(output + at);
    }
  }

  void work(std::size_t thread) {
    pin(cores_, thread);
    Memory& memory = memory_[thread];
    memory.bytes.assign(most_buffers * (shape_.bytes + 4096) + 4096, std::byte{0});
    std::vector<const void*> operands;
    std::vector<void*> outputs;
    for (std::size_t i = 0; i < shape_.operands; ++i) operands.push_back(memory.buffer(shape_, i));
    for (std::size_t i = 0; i < shape_.outputs; ++i) {
      outputs.push_back(memory.buffer(shape_, shape_.operands + i));
    }
    const std::size_t rounds = std::clamp<std::size_t>((256u << 20) / shape_.bytes, 7, 301);
    for (std::size_t round = 0; round < 2 * rounds; ++round) {
      meeting_.meet();
      prepare(thread);
      meeting_.meet();
      const Clock::time_point start = Clock::now();
      rondo::reduce({.streaming = round % 2 == 1}, outputs, operands, shape_.bytes / sizeof(float));
      own_time_[thread] = std::chrono::duration<double>(Clock::now() - start).count();
      meeting_.meet();
      if (thread == 0) times_[round % 2].push_back(std::max(own_time_[0], own_time_[1]));
    }
  }

  cpu_set_t cores_;
  Shape shape_;
  Before before_;
  std::array<Memory, threads> memory_{};
  std::array<double, threads> own_time_{};  // written by its thread, read after a meeting
  std::array<std::vector<double>, 2> times_{};
  Meeting meeting_{};
};

}  // namespace

int main(int count, char** arguments) {
  cpu_set_t cores;  // before any thread is pinned
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) < 2) {
    std::fprintf(stderr, "kernels_speed needs two cores\n");
    return 1;
  }
  std::vector<std::size_t> sizes;
  for (int i = 1; i < count; ++i) sizes.push_back(std::stoul(arguments[i]));
  if (sizes.empty()) sizes = {64u << 10, 1u << 20, 16u << 20, 64u << 20};
  std::printf("%s\n%10s %8s %7s %7s %10s %10s %6s\n", std::string(rondo::reduce_target()).c_str(),
              "bytes", "operands", "outputs", "before", "cached", "streaming", "ratio");
  for (const std::size_t bytes : sizes) {
    for (const std::size_t operands : {2, 4}) {
      for (const std::size_t outputs : {1, 2, 4}) {
        for (const Before before : {Before::own, Before::other, Before::cold}) {
          const auto [cached, streaming] =
              Measurement(cores, {bytes, operands, outputs}, before).run();
          std::printf("%10zu %8zu %7zu %7s %10.2f %10.2f %6.2f\n", bytes, operands, outputs,
                      before_names[static_cast<std::size_t>(before)], cached, streaming,
                      streaming / cached);
          std::fflush(stdout);
        }
      }
    }
  }
  return 0;
}
