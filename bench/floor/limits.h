// What the machine allows without a library: copies of memory, and sockets.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "bench/floor/team.h"
#include "bench/floor/trial.h"
#include "core/base/unique_fd.h"

namespace rondo::bench {

/// Each member reads and writes so many bytes, through the caches or past them.
Trial copy_trial(std::string name, std::size_t bytes, bool streaming);

/// Connections by loopback, from each member to the next one. To be made before the processes are
/// forked. Throws std::system_error.
class SocketRing {
 public:
  explicit SocketRing(int members);

  /// Each member sends as many bytes as an all-reduce does on each rank, and receives as many.
  Trial trial(std::string name, const Member& member, std::size_t bytes) const;

 private:
  /// By member: its end, and that of the next member.
  std::vector<std::array<UniqueFd, 2>> connections_{};
};

}  // namespace rondo::bench
