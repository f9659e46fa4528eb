// What the tests of the kernels share: guarded buffers, the specification over whole buffers, and
// the instruction sets to test.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu/targets.h"
// targets.h comes first
#include <hwy/targets.h>

#include "tests/kernels/elements.h"

namespace rondo::testing {

inline constexpr std::byte guard{0xa5};

/// A buffer that starts `offset` bytes after a cache line does, with guard bytes around it. It can
/// be moved, as `data` points into it.
struct Buffer {
  Buffer(std::size_t bytes, std::size_t offset) : memory(bytes + offset + 192, guard), size(bytes) {
    const std::size_t line = 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
    data = memory.data() + 64 + line % 64 + offset;
  }
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&&) = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() = default;
  bool guards_whole() const {
    for (const std::byte& byte : memory) {
      if ((&byte < data || &byte >= data + size) && byte != guard) return false;
    }
    return true;
  }
  std::vector<std::byte> memory;
  std::byte* data;
  std::size_t size;
};

/// Half of the elements get any bits, the others small numbers, whose sums and products are finite.
template <class E>
void fill(Buffer& buffer, std::mt19937& random) {
  const std::size_t bytes = sizeof(typename E::Storage);
  for (std::size_t at = 0; at < buffer.size; at += bytes) {
    const std::uint64_t bits = random() | std::uint64_t{random()} << 32;
    if (bits % 2 == 0) {
      const auto small = static_cast<int>((bits >> 8) % 33) - 16;
      if constexpr (std::is_floating_point_v<typename E::Work>) {
        E::store(buffer.data + at, static_cast<typename E::Work>(small) / 4);
      } else {
        E::store(buffer.data + at, static_cast<typename E::Work>(small));
      }
    } else {
      const std::uint64_t any = bits >> 8;
      std::memcpy(buffer.data + at, &any, bytes);
    }
  }
}

/// Operands combined, times the factor if they are floats. One operand times 1 keeps its bits.
template <class E>
std::vector<std::byte> specification(ReduceOperator op, const std::vector<Buffer>& operands,
                                     double factor = 1.0) {
  using Work = typename E::Work;
  const std::size_t bytes = sizeof(typename E::Storage);
  const bool scaled = factor != 1.0 && std::is_floating_point_v<Work>;
  std::vector<std::byte> expected(operands[0].data, operands[0].data + operands[0].size);
  if (operands.size() == 1 && !scaled) return expected;
  for (std::size_t at = 0; at < expected.size(); at += bytes) {
    Work work = E::load(operands[0].data + at);
    for (std::size_t j = 1; j < operands.size(); ++j) {
      work = combine<Work>(op, work, E::load(operands[j].data + at));
    }
    E::store(expected.data() + at, scaled ? work * static_cast<Work>(factor) : work);
  }
  return expected;
}

/// Elements that differ, and one more if bytes around the buffer changed.
template <class E>
std::size_t count_wrong(const std::vector<std::byte>& expected, const Buffer& got) {
  const std::size_t bytes = sizeof(typename E::Storage);
  std::size_t wrong = got.guards_whole() ? 0 : 1;
  for (std::size_t at = 0; at < expected.size(); at += bytes) {
    wrong += !same_element<E>(expected.data() + at, got.data + at);
  }
  return wrong;
}

/// Runs the kernels on one instruction set for a while.
class OnTarget {
 public:
  explicit OnTarget(std::int64_t target) { choose(target); }
  ~OnTarget() { choose(0); }
  OnTarget(const OnTarget&) = delete;
  OnTarget& operator=(const OnTarget&) = delete;

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

/// The instruction sets of this machine that the kernels are compiled for.
inline std::vector<std::int64_t> targets() { return hwy::SupportedAndGeneratedTargets(); }

}  // namespace rondo::testing
