// The client's side of a meeting, up to the moment when all ranks have come.
#pragma once

#include <chrono>

#include "core/base/unique_fd.h"
#include "core/control/control.h"
#include "core/control/message.h"

namespace rondo::control {

/// A connection to the service over which the meeting was completed.
struct Seat {
  UniqueFd socket{};
  FrameReader reader{};  ///< with what was received behind the welcome
  Welcome welcome{};
};

/// Tries until it is welcomed, refused for good or `deadline` from now has passed; the service may
/// start later than its guests. Throws Error{bootstrap}.
Seat take_seat(const MeetingPoint& point, const Hello& hello, std::chrono::milliseconds deadline);

}  // namespace rondo::control
