// The client's side of the bootstrap, up to the moment when all ranks have come.
#pragma once

#include <chrono>
#include <optional>

#include "core/base/fork.h"
#include "core/base/unique_fd.h"
#include "core/control/control.h"
#include "core/control/ending.h"
#include "core/control/message.h"

namespace rondo::control {

/// A connection to the service over which the bootstrap was completed.
struct Joined {
  UniqueFd socket{};
  FrameReader reader{};  ///< with what was received after the welcome
  Welcome welcome{};
  Nonce session{};       ///< its name, see session.h
  Standby place{};       ///< where the service is, in numbers
  UnforkedFd standby{};  ///< listens at the Hello's standby; made where that named none
};

/// Tries until it is welcomed, refused for good, or `deadline` from now has passed. The service may
/// start later than the ranks that connect to it. Throws Error{bootstrap}.
Joined join_world(const BootstrapPoint& point, const Hello& hello,
                  std::chrono::milliseconds deadline);

/// What became of joining a rank that may serve after the coordinator is lost.
struct Standing {
  std::optional<Joined> joined{};
  Presence presence = Presence::unknown;  ///< of its process
  bool is_given_up = false;               ///< by the caller
};
/// Tries until it is welcomed, the process there is known to be dead, `allowed` has passed, or the
/// descriptor `given_up` can be read. Throws Error{bootstrap} where it is refused for good.
Standing join_standby(const BootstrapPoint& point, const Hello& hello,
                      std::chrono::milliseconds allowed, int given_up);

}  // namespace rondo::control
