// What the ranks of a new communicator agree on before anything else.
#pragma once

#include <cstdint>

#include "core/base/config.h"
#include "core/communicator/membership.h"

namespace rondo::detail {

struct Agreement {
  Config config{};             ///< this rank's, with rank 0's settings where all must have the same
  std::uint64_t identity = 0;  ///< 64 bits that no other communicator has
  bool oversubscribed = false;  ///< ranks outnumber cores on this machine
};

/// Collective. Throws Error{configuration} if rank 0's settings cannot be had.
Agreement agree(const std::shared_ptr<ControlChannel>& control, const Membership& membership,
                const Config& config);

}  // namespace rondo::detail
