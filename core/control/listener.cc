#include "core/control/listener.h"

#include <boost/asio/ip/v6_only.hpp>
#include <chrono>
#include <utility>

#include "core/control/stream.h"
#include "rondo/error.h"

namespace rondo::control {

using boost::system::error_code;

Listener::Listener(boost::asio::io_context& io, const BootstrapPoint& point,
                   const std::string& hostname)
    : acceptor_(io), retry_(io) {
  error_code error;
  // One socket for both families; machines without IPv6 get the other.
  acceptor_.open(Tcp::v6(), error);
  Tcp::endpoint endpoint(Tcp::v6(), point.port);
  if (!error) {
    acceptor_.set_option(boost::asio::ip::v6_only(false), error);
  } else {
    endpoint = Tcp::endpoint(Tcp::v4(), point.port);
    error = {};
    acceptor_.open(Tcp::v4(), error);
  }
  if (!error) acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(4096, error);
  if (error) {
    throw Error(ErrorCode::bootstrap,
                "cannot listen on port " + std::to_string(point.port) + " of " + hostname + ": " +
                    error.message(),
                {.remedy = "choose a free port, the same on every rank, with " + point.named_by +
                           "; dup(), split(), ncclCommSplit make more communicators of one job"});
  }
  set_socket_options(acceptor_.native_handle());
  unforked_.emplace(acceptor_.native_handle());
  port_ = acceptor_.local_endpoint().port();
}

void Listener::accept(std::function<void(Tcp::socket)> welcome) {
  welcome_ = std::move(welcome);
  accept_next();
}

void Listener::accept_next() {
  if (!acceptor_.is_open()) return;
  acceptor_.async_accept([this](const error_code& error, Tcp::socket socket) {
    if (!error) {
      welcome_(std::move(socket));
      return accept_next();
    }
    // Most likely no descriptor is free: another try when some may be.
    retry_.expires_after(std::chrono::milliseconds{100});
    retry_.async_wait([this](const error_code&) { accept_next(); });
  });
}

void Listener::close() {
  unforked_.reset();
  error_code ignored;
  acceptor_.close(ignored);
}

}  // namespace rondo::control
