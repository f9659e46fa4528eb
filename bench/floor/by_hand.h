// The shortest all-reduce of one machine: every rank adds its share of all inputs into all outputs.
//
// It uses nothing of the library but its reduction kernels. It shows the best that rondo's direct
// path could reach. Copies from a peer's memory by the kernel are measured here, too.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "bench/floor/flags.h"
#include "bench/floor/probe.h"
#include "bench/floor/team.h"

namespace rondo::bench {

/// Inputs and outputs of all members in memory that all map.
class ByHand {
 public:
  /// `windows` is shared and holds bytes_for(members, largest).
  ByHand(Member& member, Flags& flags, SharedMemory& windows, std::size_t largest);
  static std::size_t bytes_for(int members, std::size_t largest);

  /// The all-reduce with stores through the caches and past them, and process_vm_readv.
  void add(std::size_t bytes, std::vector<Probe>& probes);

 private:
  float* input(int rank) const { return at(rank * 2); }
  float* output(int rank) const { return at(rank * 2 + 1); }
  float* at(int window) const;
  void all_reduce(std::size_t count, bool streaming);
  void read_peer(std::size_t bytes);

  Member& member_;
  Flags& flags_;
  std::byte* windows_;
  std::size_t largest_;
  pid_t neighbour_ = 0;
  std::size_t salt_ = 0;
};

}  // namespace rondo::bench
