// What a choice goes by besides the call: found out on this machine, without starting ranks.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/config.h"
#include "core/plan/choose.h"

namespace rondo::tool::why {

struct Facts {
  Surroundings around{};
  std::string transport{};      ///< between any two ranks; empty: one rank
  std::string passed_over{};    ///< better transports, and why they do not serve
  bool reaches_memory = false;  ///< the transport has a direct way
  std::size_t frame_bytes = 0;  ///< most that one message carries
};

/// Of `ranks` processes on this machine, or each on another machine like this one where `apart`.
/// `config`: the environment's settings, or what a user put in their place. Throws
/// Error{configuration} where no allowed transport reaches.
Facts facts_here(const Config& config, int ranks, bool apart);

}  // namespace rondo::tool::why
