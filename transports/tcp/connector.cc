#include "transports/tcp/connector.h"

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <list>
#include <optional>
#include <utility>

#include "core/base/random_number.h"
#include "core/settings/interface.h"
#include "transports/tcp/pacing.h"
#include "transports/tcp/reception.h"

namespace rondo::tcp {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// Every listener exists before addresses are exchanged, so a refusal soon means that the peer is
// gone; any other failure may come from a network that settles.
constexpr std::chrono::seconds longest_refusal{1};
constexpr std::chrono::milliseconds most_time = std::chrono::seconds(10);
constexpr std::chrono::milliseconds between_tries{20};

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
  SignedHello said{};
  Proof answer{};
  Clock::time_point begin = Clock::now();
  asio::steady_timer deadline;  ///< a peer that is cut off gives no answer at all, for minutes
  bool answered = false;        ///< the peer's kernel has taken this try's connection
  bool listens = false;         ///< for the peer's answer
  bool met_stranger = false;    ///< in place of the peer
  bool over = false;            ///< given up: what still comes is to be ignored
  error_code obstacle{};        ///< of the last try that ended; none: no answer yet
  Connector::OnConnected on_connected{};
  Connector::OnFailure on_failure{};
};

}  // namespace

class Connector::State {
 public:
  State(const TransportSettings& settings, OnArrival on_arrival)
      : settings_(settings),
        longest_try_(std::min(most_time, settings.timeout / 2)),
        reception_(context_, settings_, pacing_,
                   [this, on_arrival = std::move(on_arrival)](const Hello& hello, UniqueFd socket) {
                     moved_ = true;
                     on_arrival(hello, std::move(socket));
                   }) {}

  const Contact& contact() const { return reception_.contact(); }
  const std::vector<Port>& ports() const { return reception_.ports(); }

  void connect(const Contact& peer, Hello hello, OnConnected on_connected, OnFailure on_failure) {
    const auto attempt = std::make_shared<Attempt>(context_);
    hello.challenge = peer.challenge;
    hello.communicator = settings_.communicator;
    hello.from = settings_.rank;
    attempt->peer = for_socket(peer, contact(), hello.socket);
    attempt->said.hello = hello;
    attempt->on_connected = std::move(on_connected);
    attempt->on_failure = std::move(on_failure);
    attempts_.push_back(attempt);
    try_endpoint(attempt);
  }

  /// Strangers move nothing.
  bool poll() {
    moved_ = false;
    context_.poll();
    return moved_;
  }

  void add_descriptors(std::vector<pollfd>& descriptors) {
    reception_.add_descriptors(descriptors);
    for (const auto& attempt : attempts_) {
      if (!attempt->socket.is_open()) continue;
      const short events = attempt->listens ? POLLIN : POLLOUT;
      descriptors.push_back(
          {.fd = attempt->socket.native_handle(), .events = events, .revents = 0});
    }
  }

 private:
  void try_endpoint(std::shared_ptr<Attempt> attempt) try {
    watch_deadline(attempt);
    const auto endpoint =
        to_asio(attempt->peer.endpoints[attempt->endpoint], contact().endpoints.front().address);
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
      if (cancelled || attempt->over || (attempt->answered && !attempt->met_stranger)) return;
      if (Clock::now() >= end) return give_up(attempt, obstacle_of(*attempt));
      error_code ignored;
      attempt->socket.close(ignored);  // its handler tries the next one
    });
  }

  // A connection to a port nobody listens on may meet itself: the kernel can pick the same port.
  static bool is_itself(const Socket& socket) {
    error_code ignored;
    return socket.local_endpoint(ignored) == socket.remote_endpoint(ignored);
  }

  void say_hello(const std::shared_ptr<Attempt>& attempt) {
    tune(attempt->socket, pacing_);
    attempt->said.hello.own_challenge = random_number();
    attempt->said = sign(settings_.secret, attempt->said.hello);
    asio::async_write(attempt->socket, asio::buffer(&attempt->said, sizeof(SignedHello)),
                      [this, attempt](const error_code& error, std::size_t) {
                        if (attempt->over) return;
                        error ? retry(attempt, error) : hear_answer(attempt);
                      });
  }

  /// The peer answers when it looks at its port, which may be long after its kernel's answer.
  void hear_answer(const std::shared_ptr<Attempt>& attempt) {
    attempt->listens = true;
    asio::async_read(attempt->socket, asio::buffer(attempt->answer),
                     [this, attempt](const error_code& error, std::size_t) {
                       attempt->listens = false;
                       if (attempt->over) return;
                       if (error) {
                         attempt->begin = Clock::now();  // the peer was there until now
                         return retry(attempt, error);
                       }
                       if (!is_genuine(attempt->answer, settings_.secret, attempt->said.hello)) {
                         attempt->met_stranger = true;
                         return retry(attempt, asio::error::access_denied);
                       }
                       moved_ = true;
                       attempt->deadline.cancel();
                       attempts_.remove(attempt);
                       attempt->on_connected(hand_over(attempt->socket));
                     });
  }

  void retry(std::shared_ptr<Attempt> attempt, const error_code& error) {
    if (out_of_descriptors(error)) return give_up(attempt, no_descriptors(settings_.rank));
    error_code ignored;
    attempt->socket.close(ignored);
    if (error != asio::error::operation_aborted) attempt->obstacle = error;
    const bool refused = error == asio::error::connection_refused;
    const auto tried = Clock::now() - attempt->begin;
    if (tried >= longest_try_ || (refused && tried >= longest_refusal)) {
      return give_up(attempt, obstacle_of(*attempt));
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
    moved_ = true;
    attempt->on_failure(error);
  }

  Error obstacle_of(const Attempt& attempt) const {
    return attempt.met_stranger ? impostor(attempt) : unreachable(attempt);
  }

  Error impostor(const Attempt& attempt) const {
    return Error(ErrorCode::peer_lost,
                 "whoever answers in place of rank " + std::to_string(attempt.said.hello.to) +
                     " at " + where(attempt) + " does not know this job's secret",
                 {.rank = settings_.rank,
                  .peer = attempt.said.hello.to,
                  .remedy = "see whether that rank still runs, and what else listens there"});
  }

  // Refused: the machine answers but the process is gone, and the control plane may know why.
  // Otherwise all that is known is that no connection was made within the time.
  Error unreachable(const Attempt& attempt) const {
    const bool refused = attempt.obstacle == asio::error::connection_refused;
    const std::string time = " within " + std::to_string(longest_try_.count()) + " ms";
    return Error(refused ? ErrorCode::peer_lost : ErrorCode::timeout,
                 "cannot connect to rank " + std::to_string(attempt.said.hello.to) + " at " +
                     where(attempt) + (refused ? "" : time) + ": " +
                     (attempt.obstacle ? attempt.obstacle.message() : "no answer"),
                 {.rank = settings_.rank,
                  .peer = attempt.said.hello.to,
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

  const TransportSettings settings_;
  const std::chrono::milliseconds longest_try_;
  Pacing pacing_{};
  bool moved_ = false;  ///< in this poll()
  asio::io_context context_{1};
  std::list<std::shared_ptr<Attempt>> attempts_;
  Reception reception_;
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
