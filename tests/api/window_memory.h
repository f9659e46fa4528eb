// What tests of windows use as blocks, and how ranks reach these.
#pragma once

#include <cstddef>
#include <vector>

#include "rondo/memory.h"

namespace rondo::test {

/// A block of a window: in memory that peers can map, or not.
class BlockMemory {
 public:
  BlockMemory(std::size_t bytes, bool shared)
      : shared_(shared ? allocate(bytes) : Memory()), own_(shared ? 0 : bytes) {}
  std::byte* data() { return shared_ ? static_cast<std::byte*>(shared_.data()) : own_.data(); }

 private:
  Memory shared_;
  std::vector<std::byte> own_;
};

/// How the ranks reach each other's blocks.
struct Reach {
  const char* transport;
  bool shared;
};
inline constexpr Reach reaches[] = {
    {"local", false}, {"shm", true}, {"shm", false}, {"tcp", false}};

}  // namespace rondo::test
