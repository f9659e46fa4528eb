// Which congestion control a connection has.
//
// Inside one machine no wire is shared, so there is no congestion to control. Pacing packets by
// timers, as BBR does, then only delays them, most of all medium messages with pauses in between.
// Reno sends when it is acknowledged, and every kernel has it. A connection that was paced once
// stays paced, whatever is set later. So each connection begins with Reno, and changes to the
// machine's own choice once it is known to leave the machine.
#pragma once

#include <string>

namespace rondo::tcp {

/// The machine's own choice for new sockets, and whether this process may change it. Value type.
class Pacing {
 public:
  /// Call it before the socket listens or connects. A refusal is harmless: then nothing changes.
  void begin(int descriptor);
  /// Call it once the socket is connected, at either end. An accepted socket begins with its
  /// listener's choice.
  void settle(int descriptor, bool stays_on_machine) const;

 private:
  std::string usual_{};  ///< the machine's choice; empty: to be left alone
};

}  // namespace rondo::tcp
