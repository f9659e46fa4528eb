#include "transports/tcp/connector.h"

#include <fcntl.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <list>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "core/base/log.h"
#include "core/base/numa.h"
#include "core/settings/interface.h"
#include "transports/tcp/pacing.h"

namespace rondo::tcp {
namespace {

namespace asio = boost::asio;
using Socket = asio::ip::tcp::socket;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// Every listener exists before addresses are exchanged, so a refusal soon means that the peer is
// gone; any other failure may come from a network that settles.
constexpr std::chrono::seconds longest_refusal{1};
constexpr std::chrono::milliseconds most_time = std::chrono::seconds(10);
constexpr std::chrono::milliseconds between_tries{20};
constexpr std::size_t most_strangers = 4096;

std::uint64_t random_number() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

bool out_of_descriptors(const error_code& error) {
  return error == asio::error::no_descriptors ||
         error == boost::system::errc::too_many_files_open_in_system;
}

void close_on_exec(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

UniqueFd hand_over(Socket& socket) {
  error_code ignored;
  UniqueFd descriptor(socket.release(ignored));
  if (descriptor) close_on_exec(descriptor.get());
  return descriptor;
}

/// `here`: where this rank listens.
asio::ip::tcp::endpoint to_asio(const Endpoint& endpoint, const std::string& here) {
  return {asio::ip::make_address(as_seen_from(here, endpoint.address)), endpoint.port};
}

/// One outgoing connection that is being made.
struct Attempt {
  explicit Attempt(asio::io_context& context)
      : socket(context), timer(context), deadline(context) {}
  Socket socket;
  asio::steady_timer timer;
  Contact peer{};
  std::size_t endpoint = 0;  ///< the one that is tried
  Hello hello{};
  Clock::time_point begin = Clock::now();
  asio::steady_timer deadline;  ///< a peer that is cut off gives no answer at all, for minutes
  bool answered = false;        ///< the peer's kernel has taken this try's connection
  bool over = false;            ///< given up: what still comes is to be ignored
  error_code obstacle{};        ///< of the last try that ended; none: no answer yet
  Connector::OnConnected on_connected{};
  Connector::OnFailure on_failure{};
};

/// One incoming connection that has not said its hello yet.
struct Stranger {
  explicit Stranger(Socket accepted) : socket(std::move(accepted)) {}
  Socket socket;
  Hello hello{};
};

}  // namespace

class Connector::State {
 public:
  State(const TransportSettings& settings, OnArrival on_arrival)
      : settings_(settings),
        longest_try_(std::min(most_time, settings.timeout / 2)),
        on_arrival_(std::move(on_arrival)) {
    contact_.magic = random_number();
    const int node = settings.interface.empty() ? -1 : process_numa_node();  // of use for several
    for (const InterfaceAddress& port :
         ports_in_turn(settings.interface, settings.family, interface_addresses(),
                       settings.index_on_host, node))
      listen_if_possible(port);
  }

  const Contact& contact() const { return contact_; }
  const std::vector<Port>& ports() const { return ports_; }

  void connect(const Contact& peer, Hello hello, OnConnected on_connected, OnFailure on_failure) {
    const auto attempt = std::make_shared<Attempt>(context_);
    hello.magic = peer.magic;
    hello.communicator = settings_.communicator;
    hello.from = settings_.rank;
    attempt->peer = for_socket(peer, contact_, hello.socket);
    attempt->hello = hello;
    attempt->on_connected = std::move(on_connected);
    attempt->on_failure = std::move(on_failure);
    attempts_.push_back(attempt);
    try_endpoint(attempt);
  }

  bool poll() {
    const bool moved = context_.poll() > 0;
    if (failure_) throw Error(*failure_);
    return moved;
  }

  void add_descriptors(std::vector<pollfd>& descriptors) {
    for (asio::ip::tcp::acceptor& acceptor : acceptors_)
      add(descriptors, acceptor.native_handle(), POLLIN);
    for (const auto& attempt : attempts_) {
      if (attempt->socket.is_open()) add(descriptors, attempt->socket.native_handle(), POLLOUT);
    }
    for (const auto& stranger : strangers_) {
      add(descriptors, stranger->socket.native_handle(), POLLIN);
    }
  }

 private:
  static void add(std::vector<pollfd>& descriptors, int descriptor, short events) {
    descriptors.push_back({.fd = descriptor, .events = events, .revents = 0});
  }

  Error no_descriptors() const {
    return Error(ErrorCode::system, "out of file descriptors",
                 {.rank = settings_.rank, .remedy = "raise the limit of open files (ulimit -n)"});
  }

  /// Ranks can do without their further ports.
  void listen_if_possible(const InterfaceAddress& port) try {
    listen(port);
  } catch (const Error& error) {
    if (contact_.endpoints.empty()) throw;
    warn("goes on without " + port.name + ": " + error.message());
  }

  void listen(const InterfaceAddress& port) try {
    std::list<asio::ip::tcp::acceptor> made;  // not among acceptors_ before it listens
    asio::ip::tcp::acceptor& acceptor = made.emplace_back(context_);
    const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(port.address), 0);
    acceptor.open(endpoint.protocol());
    close_on_exec(acceptor.native_handle());
    pacing_.begin(acceptor.native_handle());
    acceptor.bind(endpoint);
    acceptor.listen();
    contact_.endpoints.push_back({port.address, acceptor.local_endpoint().port(), port.prefix});
    ports_.push_back({.name = port.name, .beta = port.beta, .socket = port.numa_node});
    acceptors_.splice(acceptors_.end(), made);
    accept(acceptor);
  } catch (const boost::system::system_error& error) {
    if (out_of_descriptors(error.code())) throw no_descriptors();
    throw Error(
        ErrorCode::system, "cannot listen on " + port.address + ": " + error.code().message(),
        {.rank = settings_.rank, .remedy = "choose another interface with RONDO_SOCKET_IFNAME"});
  }

  void accept(asio::ip::tcp::acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](const error_code& error, Socket socket) {
      if (out_of_descriptors(error)) {
        failure_ = no_descriptors();
        return;
      }
      if (!error) greet(std::move(socket));
      accept(acceptor);
    });
  }

  void greet(Socket socket) {
    if (strangers_.size() >= most_strangers)
      return warn("too many unknown connections; one was dropped");
    auto stranger = std::make_shared<Stranger>(std::move(socket));
    strangers_.push_back(stranger);
    asio::async_read(stranger->socket, asio::buffer(&stranger->hello, sizeof(Hello)),
                     [this, stranger](const error_code& error, std::size_t) {
                       strangers_.remove(stranger);
                       if (error || stranger->hello.magic != contact_.magic) {
                         return warn("dropped an unknown connection on the TCP port");
                       }
                       if (!is_ours(stranger->hello))
                         return warn("dropped a connection that is not for this communicator");
                       tune(stranger->socket);
                       on_arrival_(stranger->hello, hand_over(stranger->socket));
                     });
  }

  bool is_ours(const Hello& hello) const {
    return hello.version == Hello{}.version && hello.communicator == settings_.communicator &&
           hello.to == settings_.rank && hello.from >= 0 && hello.from < settings_.ranks &&
           hello.lane >= 0 && hello.socket >= 0;
  }

  void try_endpoint(std::shared_ptr<Attempt> attempt) try {
    watch_deadline(attempt);
    const auto endpoint =
        to_asio(attempt->peer.endpoints[attempt->endpoint], contact_.endpoints.front().address);
    attempt->socket = Socket(context_);
    attempt->socket.open(endpoint.protocol());
    close_on_exec(attempt->socket.native_handle());
    pacing_.begin(attempt->socket.native_handle());
    attempt->socket.async_connect(endpoint, [this, attempt](error_code error) {
      if (attempt->over) return;
      if (!error && is_itself(attempt->socket)) error = asio::error::connection_refused;
      if (error) return retry(attempt, error);
      attempt->answered = true;
      say_hello(attempt);
    });
  } catch (const boost::system::system_error& error) {
    retry(attempt, error.code());
  }

  void watch_deadline(const std::shared_ptr<Attempt>& attempt) {
    attempt->answered = false;
    const auto end = attempt->begin + longest_try_;
    // A silent address must not use up the time of the others.
    const auto turn = longest_try_ / std::ssize(attempt->peer.endpoints);
    attempt->deadline.expires_at(std::min(end, Clock::now() + turn));
    attempt->deadline.async_wait([this, attempt, end](const error_code& cancelled) {
      if (cancelled || attempt->answered || attempt->over) return;
      if (Clock::now() >= end) return give_up(attempt, unreachable(*attempt));
      error_code ignored;
      attempt->socket.close(ignored);  // its handler tries the next one
    });
  }

  // A connection to a port nobody listens on may meet itself: the kernel can pick the same port.
  static bool is_itself(const Socket& socket) {
    error_code ignored;
    return socket.local_endpoint(ignored) == socket.remote_endpoint(ignored);
  }

  // Both ends on one machine: the kernel passes packets through memory, whatever the interface.
  static bool stays_on_machine(const Socket& socket) {
    error_code ignored;
    return socket.local_endpoint(ignored).address() == socket.remote_endpoint(ignored).address();
  }

  void tune(Socket& socket) const {
    error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    pacing_.settle(socket.native_handle(), stays_on_machine(socket));
  }

  void say_hello(const std::shared_ptr<Attempt>& attempt) {
    tune(attempt->socket);
    asio::async_write(attempt->socket, asio::buffer(&attempt->hello, sizeof(Hello)),
                      [this, attempt](const error_code& error, std::size_t) {
                        if (error) return retry(attempt, error);
                        attempt->deadline.cancel();
                        attempts_.remove(attempt);
                        attempt->on_connected(hand_over(attempt->socket));
                      });
  }

  void retry(std::shared_ptr<Attempt> attempt, const error_code& error) {
    if (out_of_descriptors(error)) return give_up(attempt, no_descriptors());
    error_code ignored;
    attempt->socket.close(ignored);
    if (error != asio::error::operation_aborted) attempt->obstacle = error;
    const bool refused = error == asio::error::connection_refused;
    const auto tried = Clock::now() - attempt->begin;
    if (tried >= longest_try_ || (refused && tried >= longest_refusal)) {
      return give_up(attempt, unreachable(*attempt));
    }
    attempt->endpoint = (attempt->endpoint + 1) % attempt->peer.endpoints.size();
    attempt->timer.expires_after(between_tries);
    attempt->timer.async_wait([this, attempt](const error_code& cancelled) {
      if (!cancelled && !attempt->over) try_endpoint(attempt);
    });
  }

  void give_up(const std::shared_ptr<Attempt>& attempt, const Error& error) {
    error_code ignored;
    attempt->over = true;
    attempt->socket.close(ignored);
    attempt->timer.cancel();
    attempt->deadline.cancel();
    attempts_.remove(attempt);
    attempt->on_failure(error);
  }

  // Refused: the machine answers but the process is gone, and the control plane may know why.
  // Otherwise all that is known is that no connection was made within the time.
  Error unreachable(const Attempt& attempt) const {
    const bool refused = attempt.obstacle == asio::error::connection_refused;
    const std::string time = " within " + std::to_string(longest_try_.count()) + " ms";
    return Error(refused ? ErrorCode::peer_lost : ErrorCode::timeout,
                 "cannot connect to rank " + std::to_string(attempt.hello.to) + " at " +
                     where(attempt) + (refused ? "" : time) + ": " +
                     (attempt.obstacle ? attempt.obstacle.message() : "no answer"),
                 {.rank = settings_.rank,
                  .peer = attempt.hello.to,
                  .remedy = "see whether that rank still runs; choose the interface with "
                            "RONDO_SOCKET_IFNAME; look for a firewall in between"});
  }

  static std::string where(const Attempt& attempt) {
    std::string text;
    for (const Endpoint& endpoint : attempt.peer.endpoints) {
      text +=
          (text.empty() ? "" : ", ") + endpoint.address + " port " + std::to_string(endpoint.port);
    }
    return text;
  }

  void warn(std::string_view text) const { log(LogLevel::warn, settings_.rank, text); }

  const TransportSettings settings_;
  const std::chrono::milliseconds longest_try_;
  OnArrival on_arrival_;
  Contact contact_{};
  std::vector<Port> ports_{};
  Pacing pacing_{};
  std::optional<Error> failure_{};
  asio::io_context context_{1};
  std::list<asio::ip::tcp::acceptor> acceptors_{};
  std::list<std::shared_ptr<Attempt>> attempts_;
  std::list<std::shared_ptr<Stranger>> strangers_;
};

Connector::Connector(const TransportSettings& settings, OnArrival on_arrival)
    : state_(std::make_unique<State>(settings, std::move(on_arrival))) {}

Connector::~Connector() = default;

const Contact& Connector::contact() const { return state_->contact(); }

const std::vector<Port>& Connector::ports() const { return state_->ports(); }

void Connector::connect(const Contact& peer, Hello hello, OnConnected on_connected,
                        OnFailure on_failure) {
  state_->connect(peer, hello, std::move(on_connected), std::move(on_failure));
}

bool Connector::poll() { return state_->poll(); }

void Connector::add_descriptors(std::vector<pollfd>& descriptors) const {
  state_->add_descriptors(descriptors);
}

}  // namespace rondo::tcp
