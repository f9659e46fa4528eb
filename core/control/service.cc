#include "core/control/service.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <set>

#include "core/base/awake.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/control/attendance.h"
#include "core/control/coordinator.h"
#include "core/control/listener.h"
#include "core/control/stream.h"
#include "rondo/error.h"

namespace rondo::control {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr int most_ranks = 1'000'000;
constexpr std::size_t most_strangers = 512;
/// How long a new connection may take to introduce its rank.
constexpr std::chrono::seconds patience{10};

std::string words(const tcp::endpoint& endpoint) {
  const auto address = endpoint.address();
  const auto text =
      address.is_v6() && address.to_v6().is_v4_mapped()
          ? asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string()
          : address.to_string();
  return text + ":" + std::to_string(endpoint.port());
}

/// One connection.
struct Connection {
  Connection(tcp::socket socket, std::string from, asio::io_context& io)
      : stream(std::make_shared<Stream>(std::move(socket))),
        address(std::move(from)),
        timer(io, patience) {}

  std::shared_ptr<Stream> stream;
  std::string address;
  asio::steady_timer timer;
  bool introduced = false;  ///< has said Hello
  bool departed = false;    ///< has said Bye, or was refused
  bool told = false;        ///< knows that the service may end
  Hello hello{};
};
using ConnectionPointer = std::shared_ptr<Connection>;

/// Descriptors that the process may need beside those of ranks and strangers.
constexpr rlim_t other_descriptors = 512;

/// Lets this process hold a descriptor for each rank. Empty, or why it may not.
std::string descriptor_obstacle(int ranks) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlim_t wanted = static_cast<rlim_t>(ranks) + most_strangers + other_descriptors;
  if (limit.rlim_cur >= wanted) return {};
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur > static_cast<rlim_t>(ranks)) return {};
  return "may hold " + std::to_string(limit.rlim_cur) + " open files, and needs one for each of " +
         std::to_string(ranks) + " ranks";
}

std::string describe(const Hello& hello) {
  return control::describe(hello.rank, {.host = hello.host, .world_rank = hello.rank});
}

}  // namespace

class Service::Server {
 public:
  Server(const BootstrapPoint& point, const HostInfo& host)
      : host_(host),
        named_by_(point.named_by),
        listener_(io_, point, host.hostname),
        magic_(point.magic != 0 ? point.magic : default_magic(port())),
        ticker_(io_) {
    listener_.accept([this](tcp::socket socket) { welcome_in(std::move(socket)); });
    thread_ = quiet_thread("rondo-bootstrap", [this] { run_handlers(io_); });
  }

  ~Server() {
    let_others_leave();
    attendance_.end([this] { asio::post(io_, [this] { say_goodbye(true); }); });
    io_.stop();
    thread_.join();
  }

  std::uint16_t port() const { return listener_.port(); }
  void let_others_leave() {
    attendance_.let_others_leave(linger,
                                 [this] { asio::post(io_, [this] { say_goodbye(false); }); });
  }
  bool is_over() const { return attendance_.is_over(); }

 private:
  void welcome_in(tcp::socket socket);
  void greeted(const ConnectionPointer& connection, const Preamble& preamble);
  void received(const ConnectionPointer& connection, const Message& message);
  void introduce(const ConnectionPointer& connection, const Hello& hello);
  void check_complete();
  void closed(const ConnectionPointer& connection, const std::string& why);
  void expired(std::uint64_t milliseconds);
  void refuse(const ConnectionPointer& connection, const Refused& refusal);
  void fail_bootstrap(const Refused& refusal);
  void drop(const ConnectionPointer& connection);
  void arm_ticker();
  void say_goodbye(bool goes);
  void count();

  const HostInfo host_;
  const std::string named_by_;  ///< BootstrapPoint's
  asio::io_context io_{1};
  // Down to the attendance: used by the server's own thread only.
  Listener listener_;
  const std::uint64_t magic_;
  asio::steady_timer ticker_;
  AwakeClock clock_;  ///< the coordinator's
  std::set<ConnectionPointer> connections_;
  std::vector<ConnectionPointer> by_rank_;  ///< sized by the first Hello
  std::optional<Refused> refusal_;          ///< the bootstrap has failed
  std::optional<Coordinator> coordinator_;  ///< the bootstrap is complete
  bool closing_ = false;                    ///< has said that it may end
  Attendance attendance_;
  std::thread thread_;
};

void Service::Server::welcome_in(tcp::socket socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error || connections_.size() >= by_rank_.size() + most_strangers) return;
  set_socket_options(socket.native_handle());
  const auto connection = std::make_shared<Connection>(std::move(socket), words(endpoint), io_);
  connections_.insert(connection);
  // The server outlives its connections' streams: both live on its io_context.
  const std::weak_ptr<Connection> weak = connection;
  const auto with_connection = [weak](auto&& action) {
    if (const auto present = weak.lock()) action(present);
  };
  connection->timer.async_wait([this, with_connection](const error_code& cancelled) {
    if (cancelled) return;
    with_connection([this](const ConnectionPointer& late) {
      if (!late->introduced) closed(late, "it said nothing");
    });
  });
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
          [this, with_connection](const std::string& why) {
            with_connection([&](const ConnectionPointer& present) { closed(present, why); });
          },
  });
}

void Service::Server::greeted(const ConnectionPointer& connection, const Preamble& preamble) {
  connection->stream->send(encode(Preamble{.magic = magic_}));
  if (preamble.magic != magic_) {
    log(LogLevel::warn, -1, "refused a rank of another job from " + connection->address);
    refuse(connection, {.retry = 1, .message = "the service there belongs to another job"});
  } else if (preamble.version != protocol_version) {
    const Refused refusal{.message = "the process at " + connection->address + " speaks version " +
                                     std::to_string(preamble.version) +
                                     " of the control protocol, the others version " +
                                     std::to_string(protocol_version),
                          .remedy = "run every rank with the same version of rondo"};
    refuse(connection, refusal);
    fail_bootstrap(refusal);
  }
}

void Service::Server::received(const ConnectionPointer& connection, const Message& message) {
  if (connection->departed) return;
  if (const auto* hello = std::get_if<Hello>(&message);
      hello != nullptr && !connection->introduced) {
    introduce(connection, *hello);
  } else if (!connection->introduced) {
    closed(connection, "it sent a message before its name");
  } else if (const auto* late = std::get_if<BootstrapExpired>(&message)) {
    expired(late->milliseconds);
  } else if (std::holds_alternative<Closing>(message)) {
    connection->told = true;
    count();
  } else if (coordinator_) {
    coordinator_->receive(connection->hello.rank, message, clock_.now());
    if (std::holds_alternative<Bye>(message)) {
      connection->departed = true;
      connection->stream->finish();
    }
    arm_ticker();
  }
}

void Service::Server::introduce(const ConnectionPointer& connection, const Hello& hello) {
  if (refusal_) return refuse(connection, *refusal_);
  if (coordinator_) {
    return refuse(connection, {.retry = 1,
                               .message = "the job there is complete: all " +
                                          std::to_string(by_rank_.size()) + " ranks have joined"});
  }
  connection->introduced = true;
  connection->hello = hello;
  const auto first = std::find_if(by_rank_.begin(), by_rank_.end(),
                                  [](const ConnectionPointer& other) { return other != nullptr; });
  if (hello.ranks < 1 || hello.ranks > most_ranks || hello.rank < 0 || hello.rank >= hello.ranks) {
    return fail_bootstrap({.peer = hello.rank,
                           .message = "a process joined as " + describe(hello) + " of a world of " +
                                      std::to_string(hello.ranks) + " ranks",
                           .remedy = "number the ranks from 0 to one less than WORLD_SIZE"});
  }
  if (first != by_rank_.end() && hello.ranks != static_cast<int>(by_rank_.size())) {
    return fail_bootstrap({.peer = hello.rank,
                           .message = describe(hello) + " counts " + std::to_string(hello.ranks) +
                                      " ranks in the world but " + describe((*first)->hello) +
                                      " counts " + std::to_string(by_rank_.size()),
                           .remedy = "set the same WORLD_SIZE on every rank"});
  }
  if (first == by_rank_.end())
    if (const std::string why = descriptor_obstacle(hello.ranks); !why.empty())
      return fail_bootstrap({.message = "rank 0's process " + why,
                             .remedy = "raise the limit on its host (ulimit -n)"});
  by_rank_.resize(static_cast<std::size_t>(hello.ranks));
  auto& place = by_rank_[static_cast<std::size_t>(hello.rank)];
  if (place != nullptr) {
    return fail_bootstrap(
        {.peer = hello.rank,
         .message = "two processes joined as rank " + std::to_string(hello.rank) + ": host " +
                    place->hello.host.hostname + ", pid " + std::to_string(place->hello.host.pid) +
                    " and host " + hello.host.hostname + ", pid " + std::to_string(hello.host.pid),
         .remedy = "give every process a RANK of its own"});
  }
  place = connection;
  count();
  check_complete();
}

void Service::Server::check_complete() {
  if (std::count(by_rank_.begin(), by_rank_.end(), nullptr) != 0) return;
  Welcome welcome{.service = host_};
  for (const auto& connection : by_rank_) welcome.hosts.push_back(connection->hello.host);
  coordinator_.emplace(welcome.hosts, [this](std::span<const int> ranks, const Message& message) {
    const auto bytes = std::make_shared<const std::string>(encode(message));
    for (const int rank : ranks) {
      const auto& connection = by_rank_[static_cast<std::size_t>(rank)];
      if (connection != nullptr) connection->stream->send(bytes);
    }
  });
  const auto bytes = std::make_shared<const std::string>(encode(Message(std::move(welcome))));
  for (const auto& connection : by_rank_) {
    connection->stream->set_longest(longest_message);
    connection->stream->send(bytes);
  }
}

void Service::Server::closed(const ConnectionPointer& connection, const std::string& why) {
  drop(connection);
  if (connection->departed) return;
  if (!connection->introduced) {
    const auto level = why.empty() ? LogLevel::info : LogLevel::warn;
    log(level, -1,
        "dropped a connection from " + connection->address +
            " that named no rank: " + (why.empty() ? "the other end closed it" : why));
  } else if (coordinator_) {
    coordinator_->died(connection->hello.rank, clock_.now());
    arm_ticker();
  } else {
    fail_bootstrap(
        {.peer = connection->hello.rank,
         .message = describe(connection->hello) + " joined and left before all ranks had joined",
         .remedy = "look at the end of its output for the reason"});
  }
}

void Service::Server::drop(const ConnectionPointer& connection) {
  connection->stream->close();
  connection->timer.cancel();
  std::ranges::replace(by_rank_, connection, nullptr);
  connections_.erase(connection);
  count();
}

void Service::Server::expired(std::uint64_t milliseconds) {
  if (coordinator_ || refusal_) return;
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank) {
    if (by_rank_[rank] == nullptr) missing.push_back(static_cast<int>(rank));
  }
  fail_bootstrap({.peer = missing.front(),
                  .message = rank_list(missing) + " of " + std::to_string(by_rank_.size()) +
                             " did not join at port " + std::to_string(port()) + " of " +
                             host_.hostname + " within " + seconds(milliseconds),
                  .remedy = "check that every rank was started, with the same " + named_by_ +
                            ", and can reach that port, or raise RONDO_BOOTSTRAP_TIMEOUT"});
}

void Service::Server::refuse(const ConnectionPointer& connection, const Refused& refusal) {
  connection->departed = true;
  connection->stream->send(encode(Message(refusal)));
  connection->stream->finish();
}

void Service::Server::fail_bootstrap(const Refused& refusal) {
  if (coordinator_ || refusal_) return;
  refusal_ = refusal;
  attendance_.note_failure();
  for (const auto& connection : connections_) {
    if (connection->introduced && !connection->departed) refuse(connection, *refusal_);
  }
}

void Service::Server::arm_ticker() {
  const auto next = coordinator_ ? coordinator_->next_tick() : std::nullopt;
  if (!next) return;
  ticker_.expires_after(std::min<Coordinator::Clock::duration>(*next - clock_.now(), awake_step));
  ticker_.async_wait([this](const error_code& cancelled) {
    if (cancelled) return;
    coordinator_->tick(clock_.now());
    arm_ticker();
  });
}

/// `goes`: now, not only soon.
void Service::Server::say_goodbye(bool goes) {
  closing_ = true;
  if (coordinator_) coordinator_->tell_of_departed();
  for (const auto& connection : by_rank_) {
    if (connection == nullptr || connection->departed) continue;
    connection->stream->send(encode(Message(Closing{})));
    if (goes) connection->stream->finish();
    connection->departed = goes;
  }
  count();
}

/// Once all have left, it listens no more, and its thread ends with the last stranger.
void Service::Server::count() {
  Attendance::Counts counts{.told = closing_};
  for (const ConnectionPointer& connection : by_rank_) {
    if (connection == nullptr) continue;
    ++counts.present;
    if (!same_process(connection->hello.host, host_)) ++counts.others;
    counts.told = counts.told && (connection->departed || connection->told);
  }
  counts.is_over = coordinator_ && counts.present == 0;
  if (counts.is_over) listener_.close();
  attendance_.set(counts);
}

Service::Service(const BootstrapPoint& point, const HostInfo& host)
    : server_(std::make_unique<Server>(point, host)) {}

Service::~Service() {
  if (!maker_.is_this()) static_cast<void>(server_.release());
}

std::uint16_t Service::port() const { return server_->port(); }
void Service::let_others_leave() { server_->let_others_leave(); }
bool Service::is_over() const { return server_->is_over(); }

}  // namespace rondo::control
