#include "core/control/strangers.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <utility>

#include "core/base/socket_options.h"

namespace rondo::control {
namespace {

/// Descriptors that the process may need beside those of ranks and strangers.
constexpr rlim_t other_descriptors = 512;

/// Empty where the other end has gone already.
std::string address_of(const Stream::Socket& socket) {
  namespace ip = boost::asio::ip;
  boost::system::error_code error;
  const ip::tcp::endpoint endpoint = socket.remote_endpoint(error);
  if (error) return {};
  const ip::address address = endpoint.address();
  const std::string text = address.is_v6() && address.to_v6().is_v4_mapped()
                               ? ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_string()
                               : address.to_string();
  return text + ":" + std::to_string(endpoint.port());
}

}  // namespace

Connection::Connection(Stream::Socket socket) {
  address = address_of(socket);
  set_socket_options(socket.native_handle());
  end_where_unanswered(socket.native_handle());
  stream = std::make_shared<Stream>(std::move(socket));
  own.nonce = random_nonce();
}

Strangers::Strangers(boost::asio::io_context& io, std::function<void(bool)> pause)
    : pause_(std::move(pause)), timer_(io) {}

void Strangers::add(ConnectionPointer stranger) {
  all_.add(std::move(stranger));
  sweep();
}

void Strangers::remove(const ConnectionPointer& stranger) {
  all_.remove(stranger);
  sweep();
}

void Strangers::expect(std::size_t ranks) {
  all_.expect(ranks);
  sweep();
}

void Strangers::warn(const Connection& stranger, const std::string& what) {
  log_.warn("dropped a connection from " + stranger.address + " that named no rank: " + what);
}

void Strangers::sweep() {
  while (const auto late = all_.take_late()) {
    const Connection& stranger = *late->who;
    if (!stranger.departed)
      warn(stranger, late->made_room ? "others waited for its place" : "it said nothing");
    stranger.stream->close();
  }
  pause_(all_.is_full());
  timer_.cancel();
  if (all_.empty()) return;
  timer_.expires_at(*all_.next());
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) sweep();
  });
}

std::string descriptor_obstacle(int ranks) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlim_t wanted =
      static_cast<rlim_t>(ranks) + Newcomers<ConnectionPointer>::most + other_descriptors;
  if (limit.rlim_cur >= wanted) return {};
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur > static_cast<rlim_t>(ranks)) return {};
  return "may hold " + std::to_string(limit.rlim_cur) + " open files, and needs one for each of " +
         std::to_string(ranks) + " ranks";
}

}  // namespace rondo::control
