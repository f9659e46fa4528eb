// Fibers: threads of a simulation, which take turns on the caller's thread when they say so.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace rondo::device::test {

/// Not thread-safe.
class Fibers {
 public:
  /// Which of those that can go on is the next.
  using Pick = std::function<std::size_t(std::span<const std::size_t> ready)>;

  Fibers(std::size_t count, Pick pick);
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
  void leave(ucontext_t& from);

  std::vector<Fiber> fibers_;
  std::vector<std::size_t> ready_{};
  std::size_t ended_ = 0;
  std::size_t current_ = 0;
  ucontext_t caller_{};
  std::function<void(std::size_t)> body_{};
  std::exception_ptr thrown_{};
  Pick pick_;
};

/// Another one is drawn each time, by a seed, but for a slow one, which lags far behind for a while.
class RandomPick {
 public:
  RandomPick(std::size_t fibers, std::uint64_t seed) : fibers_(fibers), random_(seed) {}
  std::size_t operator()(std::span<const std::size_t> ready);

 private:
  std::size_t fibers_;
  std::size_t slow_ = 0;
  std::mt19937_64 random_;
};

}  // namespace rondo::device::test
