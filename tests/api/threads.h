// Ranks as threads, for tests of the public API.
#pragma once

#include <exception>
#include <thread>
#include <vector>

#include "rondo/rondo.h"

namespace rondo::test {

/// Runs body(rank) on a thread for each rank and joins them; rethrows the first rank's failure.
template <class Body>
void on_all_ranks(int ranks, Body&& body) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

/// The same, each with its own communicator of a new world.
template <class Body>
void with_world(int ranks, const Options& options, Body&& body) {
  std::vector<Communicator> comms = Communicator::from_threads(ranks, options);
  on_all_ranks(ranks, [&](int rank) { body(comms[static_cast<std::size_t>(rank)]); });
}

}  // namespace rondo::test
