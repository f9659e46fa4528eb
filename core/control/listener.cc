#include "core/control/listener.h"

#include <fcntl.h>

#include <boost/asio/ip/v6_only.hpp>
#include <chrono>
#include <utility>

#include "core/base/log.h"
#include "core/base/socket_options.h"
#include "core/control/stream.h"
#include "rondo/error.h"

namespace rondo::control {

using boost::system::error_code;

Listener::Listener(boost::asio::io_context& io, const BootstrapPoint& point,
                   const std::string& hostname)
    : acceptor_(io), retry_(io) {
  error_code error;
  const auto address = boost::asio::ip::make_address(meeting_address(point), error);
  if (!error) open({address, point.port}, error);
  // A name, or another machine's address.
  const bool is_elsewhere = error == boost::asio::error::invalid_argument ||
                            error == boost::system::errc::address_not_available;
  if (is_elsewhere) open_anywhere(point.port, error);
  if (error) {
    throw Error(ErrorCode::bootstrap,
                "cannot listen on port " + std::to_string(point.port) + " of " + hostname + ": " +
                    error.message(),
                {.remedy = "choose a free port, the same on every rank, with " + point.named_by +
                           "; dup(), split(), ncclCommSplit make more communicators of one job"});
  }
  begin();
}

Listener::Listener(boost::asio::io_context& io, UniqueFd listening) : acceptor_(io), retry_(io) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&name), &length);
  acceptor_.assign(name.ss_family == AF_INET6 ? Tcp::v6() : Tcp::v4(), listening.release());
  begin();
}

void Listener::begin() {
  set_socket_options(acceptor_.native_handle());
  unforked_.emplace(acceptor_.native_handle());
  port_ = acceptor_.local_endpoint().port();
  reserve();
}

void Listener::open(const Tcp::endpoint& endpoint, error_code& error) {
  error_code ignored;
  acceptor_.close(ignored);
  error = {};
  acceptor_.open(endpoint.protocol(), error);
  const bool both = endpoint.address().is_v6() && endpoint.address().is_unspecified();
  if (!error && both) acceptor_.set_option(boost::asio::ip::v6_only(false), error);
  if (!error) acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(4096, error);
}

/// One socket for both families; machines without IPv6 get the other.
void Listener::open_anywhere(std::uint16_t port, error_code& error) {
  open({Tcp::v6(), port}, error);
  if (error == boost::system::errc::address_family_not_supported ||
      error == boost::system::errc::address_not_available)
    open({Tcp::v4(), port}, error);
}

std::string Listener::address() const {
  const auto address = acceptor_.local_endpoint().address();
  return address.is_unspecified() ? "127.0.0.1" : address.to_string();
}

void Listener::accept(std::function<void(Tcp::socket)> welcome) {
  welcome_ = std::move(welcome);
  accept_next();
}

void Listener::pause(bool paused) {
  paused_ = paused;
  accept_next();
}

void Listener::accept_next() {
  if (!acceptor_.is_open() || paused_ || accepting_) return;
  accepting_ = true;
  acceptor_.async_accept([this](const error_code& error, Tcp::socket socket) {
    accepting_ = false;
    if (!error) {
      obstacle_.clear();
      if (!spare_) reserve();
      try {
        welcome_(std::move(socket));
      } catch (const std::exception& failure) {  // no memory, say: others may still come
        log(LogLevel::warn, -1, std::string("dropped a connection: ") + failure.what());
      }
      return accept_next();
    }
    // Most likely no descriptor is free. The spare one is for somebody who may be a rank; then
    // another try when others may be free.
    if (spare_) {
      spare_.reset();
      return accept_next();
    }
    obstacle_ = error.message();
    accepting_ = true;
    retry_.expires_after(std::chrono::milliseconds{100});
    retry_.async_wait([this](const error_code&) {
      accepting_ = false;
      accept_next();
    });
  });
}

/// Asio tries to take a connection even where nobody asks for one, so a shortage shows. Its end does
/// not, until somebody comes.
std::string Listener::obstacle() const {
  const bool is_over = obstacle_.empty() || UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return is_over ? std::string() : obstacle_;
}

void Listener::reserve() { spare_ = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

void Listener::close() {
  unforked_.reset();
  spare_.reset();
  error_code ignored;
  acceptor_.close(ignored);
}

}  // namespace rondo::control
