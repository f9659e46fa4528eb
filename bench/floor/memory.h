// Memory probes: how fast cores read and write, alone and all at once.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/common/buffer.h"
#include "bench/floor/probe.h"
#include "bench/floor/team.h"

namespace rondo::bench {

/// Memory of this member's own, and the probes that use it.
class MemoryProbes {
 public:
  /// Throws std::bad_alloc.
  MemoryProbes(const Member& member, std::size_t largest);

  /// Adds copies (2 bytes of traffic for each byte) and additions of two vectors (3 bytes), on one
  /// core and on all, through the caches and past them.
  void add(std::size_t bytes, std::vector<Probe>& probes);

 private:
  void copy(std::size_t bytes, bool streaming);
  void sum(std::size_t bytes, bool streaming);

  const Member& member_;
  Buffer left_;
  Buffer right_;
  Buffer result_;
};

}  // namespace rondo::bench
