// Team: processes of one program, one to a core, that share memory and meet at a barrier. They may
// also be threads.
//
// Benchmarks of the machine use it: its members are real processes, as ranks are, but without the
// library.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace rondo::bench {

/// Zeroed, page-aligned memory, shared with the processes that are forked after it is made.
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

/// The most processes of a team.
inline constexpr int most_members = 64;

/// One of the processes that measure together, from its own point of view.
class Member {
 public:
  virtual ~Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// There are more members than cores, so that one that spins may keep another one from its core.
  bool shares_cores() const { return shares_cores_; }

  /// A barrier: returns when every member has called it.
  virtual void meet() = 0;
  /// Collective: returns the value of member 0 on every member.
  virtual std::uint64_t agree(std::uint64_t value) = 0;
  /// Collective: returns the largest value of all members.
  virtual double largest(double value) = 0;

 protected:
  Member(int rank, int size, bool shares_cores = false)
      : rank_(rank), size_(size), shares_cores_(shares_cores) {}

 private:
  int rank_;
  int size_;
  bool shares_cores_;
};

/// Collective: the value of member 0, which must be plain bytes in whole words, on every member.
template <class Value>
Value agree_on(Member& member, Value value) {
  auto words =
      std::bit_cast<std::array<std::uint64_t, sizeof(Value) / sizeof(std::uint64_t)>>(value);
  for (std::uint64_t& word : words) word = member.agree(word);
  return std::bit_cast<Value>(words);
}

/// Forks `size` processes, binds each to an allowed core (rank modulo cores) and runs `body` in it.
/// Members meet in memory that they share: they spin, and give way after a while.
/// Returns when all have ended well. When one fails, its message is on standard error and the
/// others are ended, so that none waits for it. Then std::runtime_error is thrown.
/// The calling process must have only one thread.
void run_team(int size, const std::function<void(Member&)>& body);

/// Does the same with threads of this process, which are bound to no core. When one fails, its
/// message is on standard error and the process ends with status 1, since the others would wait
/// for it.
void run_threads(int size, const std::function<void(Member&)>& body);

}  // namespace rondo::bench
