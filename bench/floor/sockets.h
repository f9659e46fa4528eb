// Socket probes: what the kernel's loopback carries between pairs of processes, without a library.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "bench/floor/probe.h"
#include "bench/floor/team.h"
#include "core/base/unique_fd.h"

namespace rondo::bench {

/// Two connections for each pair (0 and 1, 2 and 3, ...), made before the processes are forked.
class Sockets {
 public:
  /// Throws std::system_error.
  explicit Sockets(int members);

  /// Ends of connection `way` (0 or 1) that belong to `member`. -1 for a member without a partner.
  int end(int member, int way) const;

 private:
  struct Connection {
    std::array<UniqueFd, 2> ends;
  };
  std::vector<Connection> connections_;  ///< by pair and way
};

/// Pairs swap as many bytes as an all-reduce of `bytes` sends and receives on each rank. They use
/// one connection for both ways, or one connection for each way.
class SocketProbes {
 public:
  SocketProbes(const Member& member, const Sockets& sockets, std::size_t largest);
  void add(std::size_t bytes, std::vector<Probe>& probes);

 private:
  /// Sends and receives `bytes` at once. Throws std::system_error.
  void swap(int out, int in, std::size_t bytes);

  const Member& member_;
  const Sockets& sockets_;
  std::vector<std::byte> sent_;
  std::vector<std::byte> received_;
};

}  // namespace rondo::bench
