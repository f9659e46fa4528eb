// Plain sockets of the client's side of the bootstrap, on a thread that waits for each. Private to
// core/control.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/unique_fd.h"
#include "core/control/control.h"
#include "core/control/message.h"

namespace rondo::control {

/// This try failed; the next may not.
struct TryAgain : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Nothing was said there.
struct NothingSaid : TryAgain {
  using TryAgain::TryAgain;
};

/// Its process has ended: nothing listens at the place.
struct NobodyThere : NothingSaid {
  using NothingSaid::NothingSaid;
};

/// Its machine does not answer, or is not known.
struct Unreachable : NothingSaid {
  using NothingSaid::NothingSaid;
};

/// The caller does not wait any more.
struct GivenUp {};

/// Until when to wait.
struct Limit {
  std::chrono::steady_clock::time_point deadline{};
  int given_up = -1;  ///< a descriptor: once it is readable, GivenUp is thrown

  Limit at_most(std::chrono::milliseconds time) const {
    return {std::min(deadline, std::chrono::steady_clock::now() + time), given_up};
  }
};

inline std::chrono::milliseconds until(std::chrono::steady_clock::time_point time) {
  return std::max(std::chrono::milliseconds{0}, std::chrono::ceil<std::chrono::milliseconds>(
                                                    time - std::chrono::steady_clock::now()));
}

/// This process has no descriptor left to join the other ranks.
Error no_descriptors();

/// All of these throw what is said above, and Error{system} where no descriptor is left.
/// False when the time is up first.
bool wait_for(int descriptor, short events, const Limit& limit);
/// The first address of the name that answers.
UniqueFd connect_to(const BootstrapPoint& point, const Limit& limit);
void send_all(int descriptor, std::string_view bytes, const Limit& limit);
/// False when the time is up first.
bool receive_some(int descriptor, FrameReader& reader, const Limit& limit);
/// The name of one end of a connection, in numbers. `look`: getsockname or getpeername.
std::optional<Standby> place_of(int connection, decltype(&::getsockname) look);
/// A socket that listens on the interface that `connection` uses, at a port of the kernel's choice,
/// which `standby` gets. Invalid where none is to be had: then this rank will not serve.
UniqueFd listen_beside(int connection, Standby& standby);

}  // namespace rondo::control
