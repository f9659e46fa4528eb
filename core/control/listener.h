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
#include "core/base/unique_fd.h"
#include "core/control/control.h"

namespace rondo::control {

/// Used on the thread of its io_context only, which is destroyed after it.
class Listener {
 public:
  using Tcp = boost::asio::ip::tcp;

  /// Listens at the point's address alone, if that is a number of this machine's or "localhost".
  /// Else on all interfaces: a name may mean something else here than elsewhere, and an address may
  /// be a gateway's. Port 0: a free one. Throws Error{bootstrap} when the port is in use.
  Listener(boost::asio::io_context& io, const BootstrapPoint& point, const std::string& hostname);
  /// The socket listens already.
  Listener(boost::asio::io_context& io, UniqueFd listening);

  /// Where this process reaches it.
  std::string address() const;
  std::uint16_t port() const { return port_; }
  /// Calls `welcome` for each connection, until close(). Call it once.
  void accept(std::function<void(Tcp::socket)> welcome);
  /// While it is paused, connections wait in the kernel.
  void pause(bool paused);
  void close();
  /// Why it cannot take connections: no descriptor is free, say. Empty: nothing.
  std::string obstacle() const;

 private:
  void begin();
  void open(const Tcp::endpoint& endpoint, boost::system::error_code& error);
  void open_anywhere(std::uint16_t port, boost::system::error_code& error);
  void accept_next();
  void reserve();

  Tcp::acceptor acceptor_;
  std::optional<KeptFromChildren> unforked_;  ///< the acceptor's
  boost::asio::steady_timer retry_;
  std::uint16_t port_ = 0;
  UniqueFd spare_{};        ///< a descriptor for one more connection when the process has none left
  std::string obstacle_{};  ///< of the last try
  bool paused_ = false;
  bool accepting_ = false;
  std::function<void(Tcp::socket)> welcome_{};
};

}  // namespace rondo::control
