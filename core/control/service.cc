#include "core/control/service.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "core/base/awake.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/control/admission.h"
#include "core/control/analyzer.h"
#include "core/control/attendance.h"
#include "core/control/coordinator.h"
#include "core/control/credential.h"
#include "core/control/listener.h"
#include "core/control/roll_call.h"
#include "core/control/strangers.h"
#include "core/control/times.h"
#include "rondo/error.h"

namespace rondo::control {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class Service::Server {
 public:
  Server(const BootstrapPoint& point, const HostInfo& host, int ranks)
      : host_(host),
        named_by_(point.named_by),
        secret_(point.secret),
        listener_(io_, point, host.hostname),
        strangers_(io_, [this](bool paused) { listener_.pause(paused); }),
        ticker_(io_),
        ranks_(ranks) {
    serve();
  }

  explicit Server(Takeover takeover)
      : host_(std::move(takeover.host)),
        secret_(takeover.secret),
        listener_(io_, std::move(takeover.listening)),
        strangers_(io_, [this](bool paused) { listener_.pause(paused); }),
        ticker_(io_),
        ranks_(static_cast<int>(takeover.hosts.size())),
        by_rank_(takeover.hosts.size()) {
    world_ = {.hosts = std::move(takeover.hosts), .service = host_, .standbys = takeover.standbys};
    strangers_.expect(by_rank_.size());
    if (const std::string why = descriptor_obstacle(ranks_); !why.empty())
      log(LogLevel::warn, -1, "this process, which takes over the job, " + why);
    roll_call_.emplace(io_, std::move(takeover.standbys), takeover.dead, [this] { go_on(); });
    serve();
  }

  ~Server() {
    let_others_leave();
    attendance_.end([this] { asio::post(io_, [this] { say_goodbye(true); }); });
    io_.stop();
    thread_.join();
  }

  std::string address() const { return listener_.address(); }
  std::uint16_t port() const { return listener_.port(); }
  void let_others_leave() {
    attendance_.let_others_leave(times::linger,
                                 [this] { asio::post(io_, [this] { say_goodbye(false); }); });
  }
  bool is_over() const { return attendance_.is_over(); }

 private:
  void serve() {
    listener_.accept([this](tcp::socket socket) { welcome_in(std::move(socket)); });
    thread_ = named_thread("rondo-bootstrap", [this] { run_handlers(io_); });
  }
  void welcome_in(tcp::socket socket);
  void greeted(const ConnectionPointer& connection, const Preamble& preamble);
  void received(const ConnectionPointer& connection, const Message& message);
  void recognise(const ConnectionPointer& connection, const Message& message);
  void introduce(const ConnectionPointer& connection, const Hello& hello);
  const HostInfo* holder_of(int rank) const;
  void check_complete();
  void go_on();
  void begin();
  void closed(const ConnectionPointer& connection, const Stream::Ending& ending);
  void expired(std::uint64_t milliseconds);
  void refuse(const ConnectionPointer& connection, const Refused& refusal);
  void fail_bootstrap(const Refused& refusal);
  void drop(const ConnectionPointer& connection);
  void arm_ticker();
  void say_goodbye(bool goes);
  void count();

  const HostInfo host_;
  const std::string named_by_{};  ///< BootstrapPoint's
  const Secret secret_;
  asio::io_context io_{1};
  // Down to the attendance: used by the server's own thread only.
  Listener listener_;
  Strangers strangers_;
  asio::steady_timer ticker_;
  AwakeClock clock_;                        ///< the coordinator's
  int ranks_;                               ///< 0: not known yet
  std::vector<ConnectionPointer> by_rank_;  ///< sized by the first rank
  RareLog refused_{};
  std::string turned_away_{};               ///< the last rank that was, in words
  std::optional<Refused> refusal_;          ///< the bootstrap has failed
  Welcome world_{};                         ///< what the ranks are told
  std::optional<RollCall> roll_call_{};     ///< of a takeover, while it lasts
  std::optional<Coordinator> coordinator_;  ///< the bootstrap is complete
  bool closing_ = false;                    ///< has said that it may end
  Attendance attendance_;
  std::thread thread_;
};

void Service::Server::welcome_in(tcp::socket socket) {
  const auto connection = std::make_shared<Connection>(std::move(socket));
  // The server outlives its connections' streams: both live on its io_context.
  const std::weak_ptr<Connection> weak = connection;
  const auto with_connection = [weak](auto&& action) {
    if (const auto present = weak.lock()) action(present);
  };
  strangers_.add(connection);
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
          [this, with_connection](const Stream::Ending& ending) {
            with_connection([&](const ConnectionPointer& present) { closed(present, ending); });
          },
  });
}

void Service::Server::greeted(const ConnectionPointer& connection, const Preamble& preamble) {
  connection->peers = preamble;
  connection->stream->send(encode(connection->own));  // the other side compares versions, too
  if (preamble.version == protocol_version) return;
  strangers_.warn(*connection, "it speaks version " + std::to_string(preamble.version) +
                                   " of the control protocol, this job version " +
                                   std::to_string(protocol_version));
  connection->departed = true;
  connection->stream->finish();
}

void Service::Server::received(const ConnectionPointer& connection, const Message& message) {
  if (connection->departed) return;
  if (!connection->introduced) {
    recognise(connection, message);
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

/// What comes before a connection is a rank's.
void Service::Server::recognise(const ConnectionPointer& connection, const Message& message) {
  const Preamble& own = connection->own;
  const auto* hello = std::get_if<Hello>(&message);
  const auto* credential = std::get_if<Credential>(&message);
  if (connection->is_known && hello != nullptr) {
    introduce(connection, *hello);
  } else if (connection->is_known || credential == nullptr) {
    closed(connection, {"it sent something other than its name"});
  } else if (!is_rank(*credential, secret_, connection->peers, own)) {
    strangers_.warn(*connection, "it does not know this job's secret");
    refuse(connection, {.retry = 1});
  } else {
    connection->is_known = true;
    strangers_.remove(connection);  // it waits anew, for its hello
    strangers_.add(connection);
    connection->stream->set_longest(longest_of_newcomer);
    connection->stream->send(encode(Message(service_credential(secret_, connection->peers, own))));
  }
}

const HostInfo* Service::Server::holder_of(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  return at < by_rank_.size() && by_rank_[at] != nullptr ? &by_rank_[at]->hello.host : nullptr;
}

void Service::Server::introduce(const ConnectionPointer& connection, const Hello& hello) {
  if (refusal_) return refuse(connection, *refusal_);
  if (coordinator_ && roll_call_) {
    return refuse(connection,
                  {.message = "the other ranks have gone on without this one, which came too late "
                              "to the coordinator that took over",
                   .remedy = "start this rank anew"});
  }
  if (coordinator_) {
    return refuse(connection, {.retry = 1,
                               .message = "the job there is complete: all " +
                                          std::to_string(by_rank_.size()) + " ranks have joined"});
  }
  // In a takeover a rank may come again, where a path broke for a moment.
  const HostInfo* const holder = holder_of(hello.rank);
  if (roll_call_ && holder != nullptr && same_process(*holder, hello.host))
    drop(by_rank_[static_cast<std::size_t>(hello.rank)]);
  if (const auto objection = objection_to(hello, ranks_, holder_of(hello.rank))) {
    turned_away_ = objection->message;
    refused_.warn("turned a process away: " + turned_away_);
    return refuse(connection, *objection);
  }
  connection->introduced = true;
  connection->hello = hello;
  strangers_.remove(connection);
  const bool is_first = by_rank_.empty();
  ranks_ = hello.ranks;
  by_rank_.resize(static_cast<std::size_t>(ranks_));
  by_rank_[static_cast<std::size_t>(hello.rank)] = connection;
  if (const std::string why = is_first ? descriptor_obstacle(ranks_) : ""; !why.empty())
    return fail_bootstrap({.message = "rank 0's process " + why,
                           .remedy = "raise the limit on its host (ulimit -n)"});
  strangers_.expect(static_cast<std::size_t>(std::ranges::count(by_rank_, nullptr)));
  count();
  if (roll_call_) roll_call_->note_come(hello.rank);
  check_complete();
}

void Service::Server::check_complete() {
  if (roll_call_ || std::count(by_rank_.begin(), by_rank_.end(), nullptr) != 0) return;
  world_ = {.service = host_};
  for (const auto& connection : by_rank_) {
    world_.hosts.push_back(connection->hello.host);
    world_.standbys.push_back(connection->hello.standby);
  }
  begin();
}

/// A takeover's time for ranks to come is over.
void Service::Server::go_on() {
  if (const std::string obstacle = roll_call_->obstacle(); !obstacle.empty()) {
    return fail_bootstrap({.message = obstacle,
                           .remedy = "start the job anew once all its machines reach each other"});
  }
  log(LogLevel::info, -1, "process " + std::to_string(host_.pid) + " coordinates from here on");
  begin();
  count();
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank)
    if (by_rank_[rank] == nullptr)
      coordinator_->died(static_cast<int>(rank), clock_.now(), roll_call_->why_unproven(rank));
}

void Service::Server::begin() {
  coordinator_.emplace(world_.hosts, [this](std::span<const int> ranks, const Message& message) {
    const auto bytes = std::make_shared<const std::string>(encode(message));
    for (const int rank : ranks) {
      const auto& connection = by_rank_[static_cast<std::size_t>(rank)];
      if (connection != nullptr) connection->stream->send(bytes);
    }
  });
  const auto bytes = std::make_shared<const std::string>(encode(Message(world_)));
  for (const auto& connection : by_rank_) {
    if (connection == nullptr) continue;
    connection->stream->set_longest(longest_message);
    connection->stream->send(bytes);
  }
}

void Service::Server::closed(const ConnectionPointer& connection, const Stream::Ending& ending) {
  drop(connection);
  if (!connection->introduced) {
    if (!connection->departed && ending.why.empty())
      log(LogLevel::info, -1,
          "a connection from " + connection->address + " ended before it began");
    else if (!connection->departed)
      strangers_.warn(*connection, ending.why);
    return;
  }
  if (connection->departed) return;
  if (coordinator_) {
    const int rank = connection->hello.rank;
    explain_end(io_, world_.standbys[static_cast<std::size_t>(rank)], ending,
                [this, rank](const std::string& unproven) {
                  coordinator_->died(rank, clock_.now(), unproven);
                  arm_ticker();
                });
  } else if (roll_call_) {
    roll_call_->note_gone(connection->hello.rank);
  } else {
    fail_bootstrap(
        {.peer = connection->hello.rank,
         .message = describe(connection->hello) + " joined and left before all ranks had joined",
         .remedy = "look at the end of its output for the reason"});
  }
}

void Service::Server::drop(const ConnectionPointer& connection) {
  connection->stream->close();
  strangers_.remove(connection);
  std::ranges::replace(by_rank_, connection, nullptr);
  count();
}

void Service::Server::expired(std::uint64_t milliseconds) {
  if (coordinator_ || refusal_ || roll_call_) return;
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank) {
    if (by_rank_[rank] == nullptr) missing.push_back(static_cast<int>(rank));
  }
  fail_bootstrap({.peer = missing.front(),
                  .message = rank_list(missing) + " of " + std::to_string(by_rank_.size()) +
                             " did not join at port " + std::to_string(port()) + " of " +
                             host_.hostname + " within " + seconds(milliseconds) +
                             (turned_away_.empty() ? "" : "; turned away: " + turned_away_),
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
  for (const auto& connection : by_rank_) {
    if (connection != nullptr && !connection->departed) refuse(connection, *refusal_);
  }
}

void Service::Server::arm_ticker() {
  const auto next = coordinator_ ? coordinator_->next_tick() : std::nullopt;
  if (!next) return;
  ticker_.expires_after(std::min<Coordinator::Clock::duration>(*next - clock_.now(), awake_step));
  ticker_.async_wait([this](const error_code& cancelled) {
    if (cancelled) return;
    try {
      coordinator_->tick(clock_.now());
    } catch (const std::exception& error) {  // no memory, say: at the next tick there may be
      log(LogLevel::warn, -1, std::string("in the coordinator: ") + error.what());
    }
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
  if (roll_call_ && !coordinator_) return attendance_.set(counts);  // nobody waits for these ranks
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

Service::Service(const BootstrapPoint& point, const HostInfo& host, int ranks)
    : server_(std::make_unique<Server>(point, host, ranks)) {}

Service::Service(Takeover takeover) : server_(std::make_unique<Server>(std::move(takeover))) {}

Service::~Service() {
  if (!maker_.is_this()) static_cast<void>(server_.release());
}

std::string Service::address() const { return server_->address(); }
std::uint16_t Service::port() const { return server_->port(); }
void Service::let_others_leave() { server_->let_others_leave(); }
bool Service::is_over() const { return server_->is_over(); }

}  // namespace rondo::control
