// Team: processes of one program, one to a core, that share memory and meet at a barrier.
//
// What benchmarks below the library need: real processes, as ranks are, with nothing of the library
// between them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace rondo::bench {

/// Zeroed memory that processes forked after its making share. Page-aligned.
class SharedMemory {
 public:
  /// Throws std::system_error.
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return memory_; }
  std::size_t size() const { return bytes_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_;
};

/// Cores that this process may use.
int allowed_cores();
/// The processor's name, as the kernel tells it.
std::string cpu_model();

/// One process of a team, as it sees itself.
class Member {
 public:
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Returns after every member has come. Spins, gives way after a while.
  void meet();
  /// Collective: what member 0 passes, on every member.
  std::uint64_t agree(std::uint64_t value);
  /// Collective: the largest value of all members.
  double largest(double value);

  /// What crosses between members, each word on lines of its own. Zero bytes are a new one.
  struct Board {
    alignas(128) std::atomic<std::uint32_t> arrived{0};
    alignas(128) std::atomic<std::uint32_t> round{0};
    alignas(128) std::uint64_t agreed = 0;  ///< written between two meetings by member 0 alone
    static constexpr int most_members = 64;
    double values[most_members]{};  ///< each written by its member, between two meetings
  };
  Member(int rank, int size, Board& board) : rank_(rank), size_(size), board_(board) {}

 private:
  int rank_;
  int size_;
  Board& board_;
};

/// Forks `size` processes, binds each to an allowed core (rank modulo cores) and runs `body` in it.
/// Returns when all have ended well. When one fails, its message is on standard error, the others
/// are ended, so that none waits for the dead, and std::runtime_error is thrown.
/// The calling process must have one thread.
void run_team(int size, const std::function<void(Member&)>& body);

}  // namespace rondo::bench
