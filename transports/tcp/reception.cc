#include "transports/tcp/reception.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "core/base/log.h"
#include "core/base/numa.h"
#include "core/base/random_number.h"
#include "core/base/socket_options.h"

namespace rondo::tcp {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// When no descriptor was free.
constexpr std::chrono::milliseconds rest_time{20};

// Both ends on one machine: the kernel passes packets through memory, whatever the interface.
bool stays_on_machine(const Socket& socket) {
  error_code ignored;
  return socket.local_endpoint(ignored).address() == socket.remote_endpoint(ignored).address();
}

}  // namespace

bool out_of_descriptors(const error_code& error) {
  return error == asio::error::no_descriptors ||
         error == boost::system::errc::too_many_files_open_in_system;
}

Error no_descriptors(int rank) {
  return Error(ErrorCode::system, "out of file descriptors",
               {.rank = rank, .remedy = "raise the limit of open files (ulimit -n)"});
}

void close_on_exec(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

void tune(Socket& socket, const Pacing& pacing) {
  set_socket_options(socket.native_handle());
  pacing.settle(socket.native_handle(), stays_on_machine(socket));
}

UniqueFd hand_over(Socket& socket) {
  error_code ignored;
  UniqueFd descriptor(socket.release(ignored));
  return descriptor;
}

/// One incoming connection that has not said its hello yet.
struct Reception::Stranger {
  Stranger(Socket accepted, std::string from)
      : socket(std::move(accepted)), address(std::move(from)) {}
  Socket socket;
  std::string address;  ///< for words
  SignedHello said{};
  bool over = false;  ///< dropped: what still comes is to be ignored
};

Reception::Reception(asio::io_context& context, const TransportSettings& settings, Pacing& pacing,
                     OnArrival on_arrival) try
    : context_(context),
      settings_(settings),
      pacing_(pacing),
      on_arrival_(std::move(on_arrival)),
      log_(settings.rank),
      sweeper_(context) {
  contact_.challenge = random_number();
  reserve();
  const int node = settings.interface.empty() ? -1 : process_numa_node();  // of use for several
  for (const InterfaceAddress& port :
       ports_in_turn(settings.interface, settings.family, interface_addresses(),
                     settings.index_on_host, node))
    listen_if_possible(port);
} catch (const boost::system::system_error& error) {
  if (!out_of_descriptors(error.code())) throw;
  throw no_descriptors(settings.rank);
}

void Reception::add_descriptors(std::vector<pollfd>& descriptors) {
  const auto add = [&](int descriptor) {
    descriptors.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  };
  for (const int acceptor : accepting_) add(acceptor);
  strangers_.for_each([&](const auto& stranger) { add(stranger->socket.native_handle()); });
}

/// Ranks can do without their further ports.
void Reception::listen_if_possible(const InterfaceAddress& port) try {
  listen(port);
} catch (const Error& error) {
  if (contact_.endpoints.empty()) throw;
  log(LogLevel::warn, settings_.rank, "goes on without " + port.name + ": " + error.message());
}

void Reception::listen(const InterfaceAddress& port) try {
  std::list<Acceptor> made;  // not among acceptors_ before it listens
  Acceptor& acceptor = made.emplace_back(context_);
  const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(port.address), 0);
  acceptor.open(endpoint.protocol());
  close_on_exec(acceptor.native_handle());
  pacing_.begin(acceptor.native_handle());
  acceptor.bind(endpoint);
  acceptor.listen();
  contact_.endpoints.push_back({port.address, acceptor.local_endpoint().port(), port.prefix});
  ports_.push_back({.name = port.name, .beta = port.beta, .socket = port.numa_node});
  unforked_.emplace_back(acceptor.native_handle());
  acceptors_.splice(acceptors_.end(), made);
  accept(acceptor);
} catch (const boost::system::system_error& error) {
  if (out_of_descriptors(error.code())) throw no_descriptors(settings_.rank);
  throw Error(
      ErrorCode::system, "cannot listen on " + port.address + ": " + error.code().message(),
      {.rank = settings_.rank, .remedy = "choose another interface with RONDO_SOCKET_IFNAME"});
}

void Reception::accept(Acceptor& acceptor) {
  const int descriptor = acceptor.native_handle();
  accepting_.insert(descriptor);
  acceptor.async_accept([this, &acceptor, descriptor](const error_code& error, Socket socket) {
    accepting_.erase(descriptor);
    // The spare descriptor is for somebody who may be a rank.
    if (error) {
      const bool again = out_of_descriptors(error) && std::exchange(spare_, UniqueFd());
      return again ? accept(acceptor) : rest(acceptor, error);
    }
    strangers_.is_full() ? waiting_.push_back(&acceptor) : accept(acceptor);
    if (!spare_) reserve();
    greet(std::move(socket));
  });
}

void Reception::reserve() { spare_ = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

/// What is missing, descriptors most likely, may be there later. Meanwhile connections wait in the
/// kernel.
void Reception::rest(Acceptor& acceptor, const error_code& why) {
  const auto timer = std::make_shared<asio::steady_timer>(context_, rest_time);
  timer->async_wait([this, &acceptor, timer](const error_code& cancelled) {
    if (!cancelled) accept(acceptor);
  });
  log_.warn("connections wait: " + why.message() + " (ulimit -n raises the limit of open files)");
}

void Reception::greet(Socket socket) {
  error_code ignored;
  const auto from = socket.remote_endpoint(ignored);
  auto stranger = std::make_shared<Stranger>(
      std::move(socket), from.address().to_string() + " port " + std::to_string(from.port()));
  strangers_.add(stranger);
  sweep_soon();
  asio::async_read(stranger->socket, asio::buffer(&stranger->said, sizeof(SignedHello)),
                   [this, stranger](const error_code& error, std::size_t) {
                     if (stranger->over) return;
                     strangers_.remove(stranger);
                     sweep_soon();
                     error ? drop(*stranger, "it ended before its hello") : recognise(*stranger);
                   });
}

void Reception::recognise(Stranger& stranger) {
  const Hello& hello = stranger.said.hello;
  const bool is_fresh = hello.challenge == contact_.challenge;
  if (!is_fresh || !is_genuine(stranger.said, settings_.secret))
    return drop(stranger, "it does not know this job's secret");
  if (!is_ours(hello)) return drop(stranger, "it is not for this communicator");
  if (!heard_.insert(hello.own_challenge).second)
    return drop(stranger, "it repeats what another one said");
  tune(stranger.socket, pacing_);
  const Proof proof = answer(settings_.secret, hello);
  const int descriptor = stranger.socket.native_handle();
  // A fresh socket has room for it.
  if (::send(descriptor, proof.data(), proof.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(proof.size()))
    return drop(stranger, "it broke at once");
  on_arrival_(hello, hand_over(stranger.socket));
}

void Reception::drop(const Stranger& stranger, const char* why) {
  log_.warn("dropped a connection from " + stranger.address + " to the TCP port: " + why);
}

/// After the handlers of what has come: a hello may be there already. This rank may have been busy
/// for longer than anybody may wait.
void Reception::sweep_soon() {
  if (std::exchange(sweeps_soon_, true)) return;
  asio::post(context_, [this] {
    sweeps_soon_ = false;
    sweep();
  });
}

/// Ends connections that have waited too long; takes further ones where there is room.
void Reception::sweep() {
  while (const auto late = strangers_.take_late()) {
    late->who->over = true;
    error_code ignored;
    late->who->socket.close(ignored);
    drop(*late->who, late->made_room ? "others waited for its place" : "it said nothing");
  }
  if (!strangers_.is_full())
    for (Acceptor* acceptor : std::exchange(waiting_, {})) accept(*acceptor);
  if (strangers_.empty()) return static_cast<void>(sweeper_.cancel());
  sweeper_.expires_at(*strangers_.next());
  sweeper_.async_wait([this](const error_code& cancelled) {
    if (!cancelled) sweep_soon();
  });
}

bool Reception::is_ours(const Hello& hello) const {
  return hello.version == Hello{}.version && hello.communicator == settings_.communicator &&
         hello.to == settings_.rank && hello.from >= 0 && hello.from < settings_.ranks &&
         hello.lane >= 0 && hello.socket >= 0;
}

}  // namespace rondo::tcp
