// How a control connection ended, and what that says of the process at its other end.
#pragma once

#include <cstdint>
#include <string>

namespace rondo::control {

struct Ending {
  std::string why{};        ///< empty: the other end closed it in order
  bool by_network = false;  ///< the path is broken
  bool is_final = false;    ///< a message was lost for want of memory, say: it cannot go on
};

/// What is known of a process.
enum class Presence : std::uint8_t {
  unknown,  ///< it does not answer, or cannot be asked
  alive,    ///< its kernel takes connections
  dead,     ///< its kernel refuses them
  come,
};

/// Why the process may live, where no other connection followed; empty: it has ended. One that lives
/// closes a connection in order only when it is done with it, so what ended in order is dead unless it
/// takes connections.
std::string why_unproven(const Ending& ending, Presence presence);

}  // namespace rondo::control
