// The listening socket of a bootstrap service. For .cc files only: Asio.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/fork.h"
#include "core/control/control.h"

namespace rondo::control {

/// Used on the thread of its io_context only, which is destroyed after it.
class Listener {
 public:
  using Tcp = boost::asio::ip::tcp;

  /// Listens on all interfaces, IPv4 and IPv6; of `point` the address is not read. Port 0: a free
  /// one. Throws Error{bootstrap} when the port is in use.
  Listener(boost::asio::io_context& io, const BootstrapPoint& point, const std::string& hostname);

  std::uint16_t port() const { return port_; }
  /// Calls `welcome` for each connection, until close(). Call it once.
  void accept(std::function<void(Tcp::socket)> welcome);
  void close();

 private:
  void accept_next();

  Tcp::acceptor acceptor_;
  std::optional<KeptFromChildren> unforked_;  ///< the acceptor's
  boost::asio::steady_timer retry_;
  std::uint16_t port_ = 0;
  std::function<void(Tcp::socket)> welcome_{};
};

}  // namespace rondo::control
