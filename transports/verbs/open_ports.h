// The ports that a transport may use, opened when a channel first uses them.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"
#include "transports/verbs/open_port.h"
#include "transports/verbs/reach.h"
#include "transports/verbs/settings.h"

namespace rondo::verbs {

class OpenPorts {
 public:
  /// Finds the usable ports. Throws Error{configuration} where there is none.
  /// `index`: the rank's number on its host, whose ranks take turns.
  OpenPorts(const Settings& settings, int rank, int index);

  const Settings& settings() const { return settings_; }
  std::span<const PortName> names() const { return names_; }
  std::span<const Port> all() const { return ports_; }
  /// The port for queue pair `pair` of a channel in `lane` to a peer with these ports. Channels and
  /// their queue pairs are dealt out in turn. Throws Error{configuration} when no port reaches
  /// them.
  OpenPort& choose(std::span<const PortName> theirs, int lane, int pair, int peer);

  /// Calls OpenPort::poll() on all ports.
  bool poll() {
    bool moved = false;
    for (OpenPort* port : open_) moved |= port->poll();
    return moved;
  }
  /// Deregisters the user's memory that has been freed. False: a device may have to read some of it
  /// once more.
  bool forget_freed();
  /// Descriptors that become ready when something ends on any port, or at once where something
  /// has ended meanwhile.
  void add_descriptors(std::vector<pollfd>& descriptors);
  /// The ports that are open.
  std::span<OpenPort* const> open() const { return open_; }

 private:
  OpenPort& opened(std::size_t at);

  Settings settings_;
  int rank_;
  std::vector<Port> ports_{};
  std::vector<PortName> names_{};                    ///< of ports_
  std::vector<std::unique_ptr<OpenPort>> opened_{};  ///< of ports_; null until one is taken
  std::vector<OpenPort*> open_{};
  UniqueFd ready_;  ///< always
};

}  // namespace rondo::verbs
