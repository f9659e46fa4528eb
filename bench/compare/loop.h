// The loop of every driver: wait for a command without using the processor, measure, reply. All
// libraries are measured in the same way: the same buffers, data, order and clock.
#pragma once

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "bench/compare/buffers.h"
#include "bench/compare/command.h"
#include "bench/compare/connection.h"
#include "bench/compare/library.h"

namespace rondo::compare {

/// The first thing that every driver does: a rank whose launcher dies ends, too.
inline void start_rank() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

/// Binds this rank to the `rank`-th of the allowed cores, for libraries whose launcher does not
/// bind. Does nothing unless COMPARE_BIND is set.
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

/// User and system seconds of all threads of this process: getrusage's sum, to the nanosecond.
inline double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Empties this core's caches by writing more than the largest one holds.
class CacheFlush {
 public:
  void operator()() {
    const long largest = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    const std::size_t least = 32 << 20;
    const std::size_t bytes = 2 * std::max(least, static_cast<std::size_t>(std::max(largest, 0L)));
    block_.assign(bytes, static_cast<char>(++round_));
  }

 private:
  std::vector<char> block_{};
  int round_ = 0;
};

class Loop {
 public:
  Loop(Library& library, const std::string& path) : library_(library), connection_(path) {}

  /// Serves commands until the coordinator ends. Reports an error to it and then returns 1.
  int serve() {
    connection_.write_line("hello " + std::to_string(library_.rank()) + " " +
                           std::to_string(library_.ranks()) + " " + std::to_string(::getpid()) +
                           " " + library_.version());
    while (const auto line = connection_.read_line()) {
      try {
        connection_.write_line(to_line(answer(parse_command(*line))));
      } catch (const std::exception& error) {
        std::string words = error.what();
        std::replace(words.begin(), words.end(), '\n', ' ');
        connection_.write_line("error " + words);
        return 1;
      }
    }
    return 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  Reply answer(const Command& command) {
    ::alarm(command.limit);  // ends a rank that hangs even when the coordinator was killed
    const auto start = Clock::now();
    library_.choose(command.variant);
    Reply reply = measure(command);
    reply.seconds = seconds_since(start);
    ::alarm(0);
    return reply;
  }

  Reply measure(const Command& command) {
    Buffers buffers(library_, command.subject, command.bytes, command.pairs);
    // The library sees every large buffer once before anything is timed.
    const int warm_up =
        std::max(command.calls, static_cast<int>(std::min<std::size_t>(command.pairs, 4)));
    Reply reply;
    for (int sample = -1; sample < command.samples; ++sample) {  // the first one warms up
      buffers.refill(command.seed + static_cast<std::size_t>(sample + 1) * 2003);
      if (command.cold) flush_();
      library_.barrier();
      library_.barrier();
      if (sample < 0) {
        for (int call = 0; call < warm_up; ++call) buffers.run_next();
      } else {
        take_sample(buffers, command.calls, reply);
      }
      // A rank that is done must not write its next data on a core that others still need.
      library_.barrier();
    }
    if (library_.computes()) reply.wrong = buffers.count_wrong();
    return reply;
  }

  static void take_sample(Buffers& buffers, int calls, Reply& reply) {
    const double processor = processor_seconds();
    const auto start = Clock::now();
    for (int call = 0; call < calls; ++call) buffers.run_next();
    const double seconds = seconds_since(start);
    const double scale = 1e6 / calls;
    reply.call_us.push_back(seconds * scale);
    reply.processor_us.push_back((processor_seconds() - processor) * scale);
  }

  Library& library_;
  Connection connection_;
  CacheFlush flush_{};
};

/// The number in an environment variable; 0 where there is none.
inline int number_in(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? 0 : std::atoi(value);
}

/// main()'s body for a driver whose only argument is the coordinator's socket.
inline int serve(Library& library, int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s SOCKET   (started by bench/compare/run)\n", argv[0]);
    return 2;
  }
  return Loop(library, argv[1]).serve();
}

/// main() of a driver. `core`: of the allowed ones, which it binds to if it is asked to; negative: none.
template <class Driver>
int drive(int argc, char** argv, int core = -1) {
  start_rank();
  if (core >= 0) bind_core(core);
  try {
    Driver library;
    return serve(library, argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

}  // namespace rondo::compare
