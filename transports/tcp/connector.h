// Makes connections: takes those of peers (reception.h), and makes outgoing ones with retries. Both
// ends show that they know the job's secret. Only these two files of the transport use Boost.Asio's
// sockets. A finished connection is handed over as a plain descriptor, so the data path pays for no
// reactor.
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/transport/transport.h"
#include "rondo/error.h"
#include "transports/tcp/contact.h"

namespace rondo::tcp {

/// Works inside poll() only, on the caller's thread.
class Connector {
 public:
  /// A peer has connected, said a hello to this rank, for this communicator, and shown that it knows
  /// the job's secret. Sockets and slots are not checked yet.
  using OnArrival = std::function<void(const Hello&, UniqueFd)>;
  using OnConnected = std::function<void(UniqueFd)>;
  using OnFailure = std::function<void(const Error&)>;

  /// Listens on the settings' interfaces, on TCP ports the kernel chooses. A try fails before the call
  /// that waits for it times out: its failure names the peer, which the call's own time-out cannot.
  /// Throws Error{system}.
  Connector(const TransportSettings& settings, OnArrival on_arrival);
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  const Contact& contact() const;
  /// Those it listens on.
  const std::vector<Port>& ports() const;
  /// Connects to the first of the peer's endpoints that answers, in the order of for_socket(). It
  /// tries again until the try is over, then says `hello`, in which the challenges, communicator and `from`
  /// are filled in here. `on_failure` gets a timeout, or peer_lost when the peer's machine refuses
  /// for a second; either names the peer and its addresses.
  void connect(const Contact& peer, Hello hello, OnConnected on_connected, OnFailure on_failure);

  /// True when a connection was made, taken or given up; what strangers do is nothing. Throws what
  /// the callbacks throw.
  bool poll();
  void add_descriptors(std::vector<pollfd>& descriptors) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace rondo::tcp
