// rondo's own all_reduce as probes, beside what the machine can do.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "bench/common/buffer.h"
#include "bench/floor/probe.h"
#include "bench/floor/team.h"
#include "rondo/memory.h"
#include "rondo/rondo.h"

namespace rondo::bench {

/// Communicators of the team over shm and over tcp, with buffers from the heap and from allocate().
class RondoProbes {
 public:
  /// Collective. `meeting` is shared and holds a UniqueId. Throws rondo::Error, std::bad_alloc.
  RondoProbes(Member& member, SharedMemory& meeting, std::size_t largest);

  void add(std::size_t bytes, std::vector<Probe>& probes);
  /// Collective. Call it last.
  void finalize();

 private:
  Communicator join(const char* transport);
  void add(const char* name, Communicator& world, std::size_t bytes, float* input, float* output,
           std::vector<Probe>& probes);

  Member& member_;
  SharedMemory& meeting_;
  Buffer input_;
  Buffer output_;
  Memory window_input_;
  Memory window_output_;
  Communicator shm_;
  /// A communicator learns from its own calls which path is faster. So each kind of memory has its
  /// own.
  Communicator shm_windows_;
  Communicator tcp_;
  std::size_t salt_ = 0;
};

}  // namespace rondo::bench
