#include "core/control/reception.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <utility>

#include "core/base/log.h"
#include "core/base/socket_options.h"
#include "core/control/credential.h"

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

Reception::Reception(boost::asio::io_context& io, const BootstrapPoint& point,
                     const std::string& hostname)
    : secret_(point.secret), listener_(io, point, hostname), timer_(io) {}

Reception::Reception(boost::asio::io_context& io, UniqueFd listening, const Secret& secret)
    : secret_(secret), listener_(io, std::move(listening)), timer_(io) {}

void Reception::begin(Events events) {
  events_ = std::move(events);
  listener_.accept([this](Stream::Socket socket) { welcome_in(std::move(socket)); });
}

void Reception::welcome_in(Stream::Socket socket) {
  const auto connection = std::make_shared<Connection>(std::move(socket));
  // This outlives its connections' streams: both live on its io_context.
  const std::weak_ptr<Connection> weak = connection;
  const auto with_connection = [weak](auto&& action) {
    if (const auto present = weak.lock()) action(present);
  };
  newcomers_.add(connection);
  sweep();
  connection->stream->start({
      .greeted =
          [this, with_connection](const Preamble& preamble) {
            with_connection([&](const ConnectionPointer& present) { greeted(present, preamble); });
          },
      .received =
          [this, with_connection](const Message& message) {
            with_connection([&](const ConnectionPointer& present) { received(present, message); });
          },
      .closed =
          [this, with_connection](const Ending& ending) {
            with_connection([&](const ConnectionPointer& present) { closed(present, ending); });
          },
  });
}

void Reception::greeted(const ConnectionPointer& newcomer, const Preamble& preamble) {
  newcomer->peers = preamble;
  newcomer->stream->send(newcomer->own);  // the other side compares versions, too
  if (preamble.version == protocol_version) return;
  warn(*newcomer, "it speaks version " + std::to_string(preamble.version) +
                      " of the control protocol, this job version " +
                      std::to_string(protocol_version));
  newcomer->departed = true;
  newcomer->stream->finish();
}

void Reception::received(const ConnectionPointer& connection, const Message& message) {
  if (connection->departed) return;
  if (connection->introduced) return events_.received(connection, message);
  recognise(connection, message);
}

/// What comes before a connection is a rank's.
void Reception::recognise(const ConnectionPointer& newcomer, const Message& message) {
  const Preamble& own = newcomer->own;
  const auto* hello = std::get_if<Hello>(&message);
  const auto* credential = std::get_if<Credential>(&message);
  if (newcomer->is_known && hello != nullptr) {
    events_.introduced(newcomer, *hello);
  } else if (newcomer->is_known || credential == nullptr) {
    closed(newcomer, {.why = "it sent something other than its name"});
  } else if (!is_rank(*credential, secret_, newcomer->peers, own)) {
    warn(*newcomer, "it does not know this job's secret");
    refuse(newcomer, {.retry = 1});
  } else {
    newcomer->is_known = true;
    newcomers_.remove(newcomer);  // it waits anew, for its hello
    newcomers_.add(newcomer);
    sweep();
    newcomer->stream->set_longest(longest_of_newcomer);
    newcomer->stream->send(service_credential(secret_, newcomer->peers, own));
  }
}

void Reception::closed(const ConnectionPointer& connection, const Ending& ending) {
  if (connection->introduced) return events_.closed(connection, ending);
  drop(connection);
  if (connection->departed) return;
  if (ending.why.empty())
    log(LogLevel::info, -1, "a connection from " + connection->address + " ended before it began");
  else
    warn(*connection, ending.why);
}

void Reception::accept(const ConnectionPointer& newcomer, const Hello& hello) {
  newcomer->hello = hello;
  newcomer->introduced = true;
  remove(newcomer);
}

void Reception::refuse(const ConnectionPointer& connection, const Refused& refusal) {
  connection->departed = true;
  connection->stream->send(refusal);
  connection->stream->finish();
}

void Reception::drop(const ConnectionPointer& connection) {
  connection->stream->close();
  remove(connection);
}

void Reception::remove(const ConnectionPointer& newcomer) {
  newcomers_.remove(newcomer);
  sweep();
}

void Reception::expect(std::size_t ranks) {
  newcomers_.expect(ranks);
  sweep();
}

void Reception::warn(const Connection& stranger, const std::string& what) {
  log_.warn("dropped a connection from " + stranger.address + " that named no rank: " + what);
}

void Reception::sweep() {
  while (const auto late = newcomers_.take_late()) {
    const Connection& stranger = *late->who;
    if (!stranger.departed)
      warn(stranger, late->made_room ? "others waited for its place" : "it said nothing");
    stranger.stream->close();
  }
  listener_.pause(newcomers_.is_full());
  timer_.cancel();
  if (newcomers_.empty()) return;
  timer_.expires_at(*newcomers_.next());
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
