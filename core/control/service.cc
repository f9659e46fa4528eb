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
#include "core/control/reception.h"
#include "core/control/roll_call.h"
#include "core/control/succession.h"
#include "core/control/times.h"
#include "rondo/error.h"

namespace rondo::control {

namespace asio = boost::asio;
using boost::system::error_code;

class Service::Server {
 public:
  Server(const BootstrapPoint& point, const HostInfo& host, int ranks)
      : host_(host),
        named_by_(point.named_by),
        reception_(io_, point, host.hostname),
        ticker_(io_),
        ranks_(ranks) {
    serve();
  }

  explicit Server(Takeover takeover)
      : host_(std::move(takeover.host)),
        reception_(io_, std::move(takeover.listening), takeover.secret),
        ticker_(io_),
        takes_over_(true),
        left_(takeover.left),
        ranks_(static_cast<int>(takeover.hosts.size())),
        by_rank_(takeover.hosts.size()) {
    world_ = {.hosts = std::move(takeover.hosts),
              .service = host_,
              .standbys = std::move(takeover.standbys)};
    reception_.expect(by_rank_.size());
    if (const std::string why = descriptor_obstacle(ranks_); !why.empty())
      log(LogLevel::warn, -1, "this process, which takes over the job, " + why);
    begin_roll_call();
    for (int rank = 0; rank < ranks_; ++rank) roll_call_->miss(rank, times::for_machine);
    for (const int rank : takeover.dead) roll_call_->note_dead(rank);
    for (const int rank : left_) roll_call_->note_dead(rank);
    serve();
  }

  ~Server() {
    let_others_leave();
    attendance_.end([this] { asio::post(io_, [this] { say_goodbye(true); }); });
    io_.stop();
    thread_.join();
  }

  std::string address() const { return reception_.listener().address(); }
  std::uint16_t port() const { return reception_.listener().port(); }
  void let_others_leave() {
    attendance_.let_others_leave(times::linger,
                                 [this] { asio::post(io_, [this] { say_goodbye(false); }); });
  }
  bool is_over() const { return attendance_.is_over(); }

 private:
  void serve() {
    reception_.begin({
        .introduced = [this](const ConnectionPointer& newcomer,
                             const Hello& hello) { introduce(newcomer, hello); },
        .received = [this](const ConnectionPointer& rank,
                           const Message& message) { received(rank, message); },
        .closed = [this](const ConnectionPointer& rank,
                         const Ending& ending) { closed(rank, ending); },
    });
    thread_ = named_thread("rondo-bootstrap", [this] { run_handlers(io_); });
  }
  void received(const ConnectionPointer& connection, const Message& message);
  void introduce(const ConnectionPointer& connection, const Hello& hello);
  static void refuse_late(const ConnectionPointer& connection);
  void resume(const ConnectionPointer& connection, const Hello& hello);
  ConnectionPointer holder_of(int rank) const;
  void check_complete();
  void begin_roll_call();
  void settled(int rank);
  void lose(const ConnectionPointer& connection, const std::string& unproven);
  void go_on();
  void begin();
  void closed(const ConnectionPointer& connection, const Ending& ending);
  void expired(std::uint64_t milliseconds);
  void fail_bootstrap(const Refused& refusal);
  void drop(const ConnectionPointer& connection);
  void arm_ticker();
  void say_goodbye(bool goes);
  void count();

  const HostInfo host_;
  const std::string named_by_{};  ///< BootstrapPoint's
  asio::io_context io_{1};
  // Down to the attendance: used by the server's own thread only.
  Reception reception_;
  asio::steady_timer ticker_;
  AwakeClock clock_;                        ///< the coordinator's
  const bool takes_over_ = false;           ///< from a service that is gone
  const std::vector<int> left_{};           ///< ranks that had ended in order before
  int ranks_;                               ///< 0: not known yet
  std::vector<ConnectionPointer> by_rank_;  ///< sized by the first rank
  RareLog refused_{};
  std::string turned_away_{};               ///< the last rank that was, in words
  std::optional<Refused> refusal_;          ///< the bootstrap has failed
  Welcome world_{};                         ///< what the ranks are told
  std::optional<RollCall> roll_call_{};     ///< from a takeover or the end of the bootstrap on
  std::optional<Coordinator> coordinator_;  ///< the bootstrap or takeover is complete
  bool closing_ = false;                    ///< has said that it may end
  Attendance attendance_;
  std::thread thread_;
};

void Service::Server::received(const ConnectionPointer& connection, const Message& message) {
  if (const auto* late = std::get_if<BootstrapExpired>(&message)) {
    expired(late->milliseconds);
  } else if (std::holds_alternative<Closing>(message)) {
    --connection->untold;
    count();
  } else if (coordinator_) {
    coordinator_->receive(connection->hello.rank, message, clock_.now());
    const bool goes = std::holds_alternative<Bye>(message);
    connection->departed = connection->departed || goes;
    // However this process ends, the next coordinator knows who left.
    if (closing_ && (goes || std::holds_alternative<Leave>(message))) say_goodbye(false);
    if (goes && !closing_) connection->stream->finish();
    arm_ticker();
  }
}

ConnectionPointer Service::Server::holder_of(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  return at < by_rank_.size() ? by_rank_[at] : nullptr;
}

void Service::Server::introduce(const ConnectionPointer& connection, const Hello& hello) {
  if (refusal_) return Reception::refuse(connection, *refusal_);
  if (hello.session != Nonce{}) return resume(connection, hello);
  if (coordinator_ && takes_over_) return refuse_late(connection);
  if (coordinator_) {
    return Reception::refuse(connection,
                             {.retry = 1,
                              .message = "the job there is complete: all " +
                                         std::to_string(by_rank_.size()) + " ranks have joined"});
  }
  // In a takeover a rank may come again, where a path broke for a moment.
  ConnectionPointer holder = holder_of(hello.rank);
  if (takes_over_ && holder != nullptr && same_process(holder->hello.host, hello.host)) {
    drop(holder);
    holder = nullptr;
  }
  if (const auto objection =
          objection_to(hello, ranks_, holder != nullptr ? &holder->hello.host : nullptr)) {
    turned_away_ = objection->message;
    refused_.warn("turned a process away: " + turned_away_);
    return Reception::refuse(connection, *objection);
  }
  reception_.accept(connection, hello);
  connection->stream->carry(Session(connection->own.nonce), 0);
  const bool is_first = by_rank_.empty();
  ranks_ = hello.ranks;
  by_rank_.resize(static_cast<std::size_t>(ranks_));
  by_rank_[static_cast<std::size_t>(hello.rank)] = connection;
  if (const std::string why = is_first ? descriptor_obstacle(ranks_) : ""; !why.empty())
    return fail_bootstrap({.message = "rank 0's process " + why,
                           .remedy = "raise the limit on its host (ulimit -n)"});
  reception_.expect(static_cast<std::size_t>(std::ranges::count(by_rank_, nullptr)));
  count();
  if (takes_over_) roll_call_->note_come(hello.rank);
  check_complete();
}

/// The others went on without it.
void Service::Server::refuse_late(const ConnectionPointer& connection) {
  Reception::refuse(
      connection, {.message = "the other ranks have gone on without this one, which came too late "
                              "to the process that coordinates them",
                   .remedy = "start this rank anew"});
}

/// A rank is back, whose connection broke; this side may not have noticed yet.
void Service::Server::resume(const ConnectionPointer& connection, const Hello& hello) {
  const ConnectionPointer broken = holder_of(hello.rank);
  if (coordinator_ && broken == nullptr) return refuse_late(connection);
  if (!coordinator_ || broken->stream->session().name() != hello.session)
    return Reception::refuse(connection, {.retry = 1, .message = "it serves another job now"});
  reception_.accept(connection, broken->hello);
  Session session = std::move(broken->stream->session());
  broken->stream->close();
  connection->untold = broken->untold;
  by_rank_[static_cast<std::size_t>(hello.rank)] = connection;
  roll_call_->note_come(hello.rank);
  reception_.expect(roll_call_->missing());
  log(LogLevel::warn, -1,
      describe(connection->hello) + " is back: its control connection had broken" +
          (broken->ending.why.empty() ? "" : ": " + broken->ending.why));
  connection->stream->set_longest(longest_message);
  connection->stream->send(Welcome{.received = session.received()});
  connection->stream->carry(std::move(session), hello.received);
}

void Service::Server::check_complete() {
  if (coordinator_) return;
  if (takes_over_) return roll_call_->missing() == 0 ? go_on() : void();
  if (std::count(by_rank_.begin(), by_rank_.end(), nullptr) != 0) return;
  world_ = {.service = host_};
  for (const auto& connection : by_rank_) {
    world_.hosts.push_back(connection->hello.host);
    world_.standbys.push_back(connection->hello.standby);
  }
  begin_roll_call();
  begin();
}

void Service::Server::begin_roll_call() {
  roll_call_.emplace(io_, reachable_standbys(world_), [this](int rank) { settled(rank); });
}

/// A rank has not come to the takeover, or not come back.
void Service::Server::settled(int rank) {
  if (!coordinator_) return check_complete();
  const ConnectionPointer connection = holder_of(rank);
  if (connection == nullptr) return;
  const Presence presence = roll_call_->presence(rank);
  lose(connection, why_unproven(connection->ending, presence));
}

void Service::Server::lose(const ConnectionPointer& connection, const std::string& unproven) {
  coordinator_->died(connection->hello.rank, clock_.now(), unproven);
  drop(connection);
  arm_ticker();
}

/// A takeover's time for ranks to come is over.
void Service::Server::go_on() {
  if (refusal_) return;
  if (const std::string obstacle = roll_call_->obstacle(); !obstacle.empty()) {
    return fail_bootstrap({.message = obstacle,
                           .remedy = "start the job anew once all its machines reach each other"});
  }
  log(LogLevel::info, -1, "process " + std::to_string(host_.pid) + " coordinates from here on");
  begin();
  count();
  for (const int rank : left_) coordinator_->receive(rank, Bye{}, clock_.now());
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank)
    if (by_rank_[rank] == nullptr)
      coordinator_->died(static_cast<int>(rank), clock_.now(),
                         roll_call_->presence(static_cast<int>(rank)) == Presence::dead
                             ? ""
                             : "it did not come to the process that took over");
}

void Service::Server::begin() {
  const auto welcome = Stream::encoded(world_);
  coordinator_.emplace(world_.hosts, [this](std::span<const int> ranks, const Message& message) {
    const auto bytes = Stream::encoded(message);
    for (const int rank : ranks) {
      const auto& connection = by_rank_[static_cast<std::size_t>(rank)];
      if (connection != nullptr) connection->stream->say(bytes);
    }
  });
  for (const auto& connection : by_rank_) {
    if (connection == nullptr) continue;
    connection->stream->set_longest(longest_message);
    connection->stream->send(welcome);
  }
}

void Service::Server::closed(const ConnectionPointer& connection, const Ending& ending) {
  const int rank = connection->hello.rank;
  if (coordinator_ && !connection->departed) {
    if (ending.is_final) return lose(connection, why_unproven(ending, Presence::alive));
    roll_call_->miss(rank, times::for_return);  // it stays the rank's, which may come back
    connection->ending = ending;
    return reception_.expect(roll_call_->missing());
  }
  drop(connection);
  if (connection->departed) return;
  if (takes_over_) return roll_call_->note_gone(rank);
  fail_bootstrap(
      {.peer = rank,
       .message = describe(connection->hello) + " joined and left before all ranks had joined",
       .remedy = "look at the end of its output for the reason"});
}

void Service::Server::drop(const ConnectionPointer& connection) {
  reception_.drop(connection);
  std::ranges::replace(by_rank_, connection, nullptr);
  count();
}

void Service::Server::expired(std::uint64_t milliseconds) {
  if (coordinator_ || refusal_ || takes_over_) return;
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank) {
    if (by_rank_[rank] == nullptr) missing.push_back(static_cast<int>(rank));
  }
  const std::string full = reception_.listener().obstacle();
  fail_bootstrap(
      {.peer = missing.front(),
       .message = rank_list(missing) + " of " + std::to_string(by_rank_.size()) +
                  " did not join at port " + std::to_string(port()) + " of " + host_.hostname +
                  " within " + seconds(milliseconds) +
                  (turned_away_.empty() ? "" : "; turned away: " + turned_away_) +
                  (full.empty() ? "" : "; the process there takes no more connections: " + full),
       .remedy = full.empty() ? "check that every rank was started, with the same " + named_by_ +
                                    ", and can reach that port, or raise RONDO_BOOTSTRAP_TIMEOUT"
                              : "raise its limit (of open files: ulimit -n)"});
}

void Service::Server::fail_bootstrap(const Refused& refusal) {
  if (coordinator_ || refusal_) return;
  refusal_ = refusal;
  attendance_.note_failure();
  for (const auto& connection : by_rank_) {
    if (connection != nullptr && !connection->departed) Reception::refuse(connection, *refusal_);
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
  const Message closing = coordinator_ ? coordinator_->closing() : Closing{};
  for (const auto& connection : by_rank_) {
    if (connection == nullptr || connection->departed) continue;
    ++connection->untold;
    coordinator_ ? connection->stream->say(closing) : connection->stream->send(closing);
    if (goes) connection->stream->finish();
    connection->departed = goes && connection->stream->is_open();
  }
  count();
}

/// Once all have left, it listens no more, and its thread ends with the last stranger.
void Service::Server::count() {
  Attendance::Counts counts{.told = closing_};
  if (takes_over_ && !coordinator_) return attendance_.set(counts);  // nobody waits for these ranks
  for (const ConnectionPointer& connection : by_rank_) {
    if (connection == nullptr) continue;
    ++counts.present;
    if (!same_process(connection->hello.host, host_)) ++counts.others;
    counts.told = counts.told && (connection->departed || connection->untold == 0);
  }
  // Who has left may go once the others know it: the end of this process can throw away what they have
  // not read, and a rank that ended would be taken for dead.
  for (const ConnectionPointer& connection : by_rank_)
    if (counts.told && connection != nullptr && connection->departed) connection->stream->finish();
  counts.is_over = coordinator_ && counts.present == 0;
  if (counts.is_over) reception_.close();
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
