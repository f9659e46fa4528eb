// Children that this process forks without another program: they hold copies of its descriptors and
// objects, but have neither its threads nor its place among the ranks.
#pragma once

#include <cstdint>

namespace rondo {

/// A descriptor that children by fork() are not to hold: a connection ends for its peer only when
/// nobody has it open any more, so a child that outlives this process would hide its end. While
/// this lives, a child gets an empty file under the number instead, which it may close. To be
/// destroyed before the descriptor is closed. Any thread.
class KeptFromChildren {
 public:
  explicit KeptFromChildren(int descriptor);
  ~KeptFromChildren();
  KeptFromChildren(const KeptFromChildren&) = delete;
  KeptFromChildren& operator=(const KeptFromChildren&) = delete;

 private:
  int descriptor_;
};

/// The process that made it. Value type.
class MakerProcess {
 public:
  MakerProcess();
  /// False in a child that it has forked, and in that one's children. No system call. Any thread.
  bool is_this() const noexcept;

 private:
  std::uint64_t generation_;
};

}  // namespace rondo
