// Ranks as threads.
#pragma once

#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rondo/rondo.h"

namespace rondo::test {

/// The first one of several threads' failures: others may follow from it. Thread-safe.
class FirstOfThreads {
 public:
  /// Keeps the exception that is being handled.
  void note() {
    const std::scoped_lock lock(mutex_);
    if (!first_) first_ = std::current_exception();
  }
  void rethrow() const {
    const std::scoped_lock lock(mutex_);
    if (first_) std::rethrow_exception(first_);
  }

 private:
  mutable std::mutex mutex_{};
  std::exception_ptr first_{};
};

/// For threads: Catch's own checks are for one thread at a time.
inline void expect_that(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("not so: " + what);
}

/// Runs body(rank) on a thread for each rank and joins them; rethrows the first failure.
template <class Body>
void on_all_ranks(int ranks, Body&& body) {
  std::vector<std::thread> threads;
  FirstOfThreads failure;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        failure.note();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  failure.rethrow();
}

/// The same, each with its own communicator of a new world. A rank that fails ends the calls that
/// the others make.
template <class Body>
void with_world(int ranks, const Options& options, Body&& body) {
  std::vector<Communicator> comms = Communicator::from_threads(ranks, options);
  FirstOfThreads failure;
  on_all_ranks(ranks, [&](int rank) {
    Communicator& comm = comms[static_cast<std::size_t>(rank)];
    try {
      body(comm);
    } catch (...) {
      failure.note();
      comm.abort("the test failed");
    }
  });
  failure.rethrow();
}

}  // namespace rondo::test
