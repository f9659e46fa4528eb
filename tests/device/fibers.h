// Fibers: threads of a simulation, which take turns on the caller's thread when they say so. Their
// order is random, by a seed.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace rondo::device::test {

/// Not thread-safe.
class Fibers {
 public:
  Fibers(std::size_t count, std::uint64_t seed);
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Runs body(i) on fiber i, for each, and returns when all have ended: true. False when those that
  /// are left are all blocked; they never go on. Throws the first exception of a body. Call it once.
  bool run(std::function<void(std::size_t)> body);

  // For the fiber that runs.
  std::size_t current() const { return current_; }
  /// Another one may go on.
  void yield();
  /// Others go on until one of them calls unblock().
  void block();
  void unblock(std::size_t fiber);

 private:
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack{};
  };

  static void enter(unsigned high, unsigned low);
  void run_current();
  std::size_t pick();
  void leave(ucontext_t& from);

  std::vector<Fiber> fibers_;
  std::vector<std::size_t> ready_{};
  std::size_t ended_ = 0;
  std::size_t current_ = 0;
  std::size_t slow_ = 0;  ///< the fiber that is seldom picked, for now
  ucontext_t caller_{};
  std::function<void(std::size_t)> body_{};
  std::exception_ptr thrown_{};
  std::mt19937_64 random_;
};

}  // namespace rondo::device::test
