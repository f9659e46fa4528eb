// Which congestion control a connection has.
//
// Where no wire is shared there is no congestion to control, and pacing packets by timers, as BBR
// does, only costs: messages of 256 KiB to 1 MiB with pauses between them took two to five times as
// long. Reno sends when acknowledged, and every kernel has it. A connection that has once been
// paced stays so, whatever it is told later; so it must begin with Reno, and goes to the machine's
// own choice once it is known to leave the machine.
#pragma once

#include <string>

namespace rondo::tcp {

/// What sockets of this process would begin with, and whether they may be told to change. Value
/// type.
class Pacing {
 public:
  /// Before the socket listens or connects. A refusal is harmless: then all stays as it is.
  void begin(int descriptor);
  /// Once it is connected, by either end; what is accepted begins with its listener's choice.
  void settle(int descriptor, bool stays_on_machine) const;

 private:
  std::string usual_{};  ///< the machine's choice; empty: to be left alone
};

}  // namespace rondo::tcp
