// Memory that the benchmarks communicate from and into.
#pragma once

#include <cstddef>
#include <memory>

namespace rondo::bench {

/// Page-aligned bytes with a guard zone at both ends. Touched when made, so that no measurement
/// pays for page faults. Movable, not copyable.
class Buffer {
 public:
  static constexpr std::size_t guard_bytes = 4096;

  /// `shift` bytes of misalignment after the leading guard. Throws std::bad_alloc.
  explicit Buffer(std::size_t bytes, std::size_t shift = 0);

  std::byte* data() { return memory_.get() + guard_bytes + shift_; }
  const std::byte* data() const { return memory_.get() + guard_bytes + shift_; }
  std::size_t size() const { return bytes_; }

  /// Fills guard_bytes before data() and after data() + used with the guard pattern.
  void arm(std::size_t used);
  /// Guard bytes that changed since arm(used).
  std::size_t trespassed(std::size_t used) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::size_t bytes_;
  std::size_t shift_;
  std::unique_ptr<std::byte[], Free> memory_;
};

/// What output holds before a checked call: a byte no element of the data repeats.
inline constexpr std::byte poison{0xa5};

}  // namespace rondo::bench
