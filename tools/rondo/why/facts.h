// The facts about this machine that a choice depends on. Finding them starts no ranks.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/config.h"
#include "core/plan/choose.h"

namespace rondo::tool::why {

struct Facts {
  Topology around{};
  std::string transport{};    ///< "shm", or "shm+tcp" in a host and between hosts; empty: one rank
  std::string passed_over{};  ///< better transports, and why they do not serve
  bool reaches_memory = false;  ///< the transport has a direct path
  bool checksum = false;        ///< RONDO_CHECKSUM: calls go by messages
  std::size_t frame_bytes = 0;  ///< most that one message carries
};

/// Facts for processes that live so, on machines like this one. `config`: the settings of the
/// environment, or what the user gave instead. Throws Error{configuration} if no allowed transport
/// reaches the peers.
Facts facts_here(const Config& config, const Topology& around);

}  // namespace rondo::tool::why
