// The client's side of the bootstrap, up to the moment when all ranks have come.
#pragma once

#include <chrono>

#include "core/base/unique_fd.h"
#include "core/control/control.h"
#include "core/control/message.h"

namespace rondo::control {

/// A connection to the service over which the bootstrap was completed.
struct Joined {
  UniqueFd socket{};
  FrameReader reader{};  ///< with what was received after the welcome
  Welcome welcome{};
};

/// Tries until it is welcomed, refused for good, or `deadline` from now has passed. The service may
/// start later than the ranks that connect to it. Throws Error{bootstrap}.
Joined join_world(const BootstrapPoint& point, const Hello& hello,
                  std::chrono::milliseconds deadline);

}  // namespace rondo::control
