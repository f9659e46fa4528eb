#include "core/control/roll_call.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "core/control/analyzer.h"
#include "core/control/times.h"

namespace rondo::control {
using boost::system::error_code;

RollCall::RollCall(boost::asio::io_context& io, std::vector<Standby> standbys,
                   const std::vector<int>& dead, std::function<void()> done)
    : io_(io),
      standbys_(std::move(standbys)),
      presence_(standbys_.size(), Presence::unknown),
      asked_(standbys_.size()),
      done_(std::move(done)),
      timer_(io) {
  for (const int rank : dead) presence_[static_cast<std::size_t>(rank)] = Presence::dead;
  ask_in(std::chrono::milliseconds{0});
}

void RollCall::note_come(int rank) {
  presence_[static_cast<std::size_t>(rank)] = Presence::come;
  check();
}

void RollCall::note_gone(int rank) {
  presence_[static_cast<std::size_t>(rank)] = Presence::unknown;
}

std::vector<int> RollCall::all_that_are(Presence presence) const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < presence_.size(); ++rank)
    if (presence_[rank] == presence) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

namespace {

/// A connection that is closed at once, and the wait for it.
struct Question : std::enable_shared_from_this<Question> {
  Question(boost::asio::io_context& io, Standby place, std::function<void(Presence)> then)
      : socket(io), timer(io), standby(std::move(place)), done(std::move(then)) {}

  void ask(std::chrono::milliseconds limit) {
    error_code error;
    const auto address = boost::asio::ip::make_address(standby.address, error);
    const auto self = shared_from_this();
    if (error)  // a name: nobody can be asked
      return boost::asio::post(socket.get_executor(), [self] { self->done(Presence::unknown); });
    socket.async_connect({address, standby.port}, [self, limit](const error_code& refused) {
      self->timer.cancel();
      self->answered(refused, limit);
    });
    timer.expires_after(limit);
    timer.async_wait([self](const error_code& cancelled) {
      error_code ignored;
      if (!cancelled) self->socket.close(ignored);
    });
  }

  void answered(const error_code& refused, std::chrono::milliseconds limit) {
    if (refused == boost::asio::error::connection_refused) return done(Presence::dead);
    if (refused) return done(Presence::unknown);
    if (std::exchange(is_second, true)) return done(Presence::alive);
    error_code ignored;
    socket.close(ignored);
    timer.expires_after(times::grace);
    timer.async_wait([self = shared_from_this(), limit](const error_code&) { self->ask(limit); });
  }

  boost::asio::ip::tcp::socket socket;
  boost::asio::steady_timer timer;
  const Standby standby;
  const std::function<void(Presence)> done;
  bool is_second = false;
};

}  // namespace

void ask_for_presence(boost::asio::io_context& io, const Standby& standby,
                      std::chrono::milliseconds limit, std::function<void(Presence)> done) {
  std::make_shared<Question>(io, standby, std::move(done))->ask(limit);
}

/// A process that ends closes its connections. All else needs a proof: a reset may be that of a
/// network, or of a connection that this process has ended.
void explain_end(boost::asio::io_context& io, const Standby& standby, const Stream::Ending& ending,
                 std::function<void(const std::string& unproven)> then) {
  if (ending.why.empty()) return then("");
  if (ending.by_network) return then(broken_path(ending.why));
  ask_for_presence(io, standby, times::farewell,
                   [then = std::move(then), why = ending.why](Presence presence) {
                     then(presence == Presence::dead ? "" : "its control connection ended: " + why);
                   });
}

std::string RollCall::obstacle() const {
  std::vector<int> may_live;
  for (std::size_t rank = 0; rank < presence_.size(); ++rank)
    if (presence_[rank] != Presence::dead) may_live.push_back(static_cast<int>(rank));
  return obstacle_to_going_on(all_that_are(Presence::come), may_live);
}

void RollCall::ask_in(std::chrono::milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](const error_code& cancelled) {
    if (!cancelled) ask();
  });
}

void RollCall::ask() {
  // Those that are alive are on their way: a question now and then shows whether they died.
  constexpr unsigned seldom = 10;
  for (const int rank : all_that_are(Presence::unknown)) ask(rank);
  if (++rounds_ % seldom == 0)
    for (const int rank : all_that_are(Presence::alive)) ask(rank);
  ask_in(awake_step);  // also where check() throws, for want of memory say
  check();
}

void RollCall::ask(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  if (standbys_[at].address.empty() || asked_[at]) return;
  asked_[at] = true;
  ask_for_presence(io_, standbys_[at], times::for_machine, [this, rank, at](Presence presence) {
    asked_[at] = false;
    if (done_) answered(rank, presence);
  });
}

void RollCall::answered(int rank, Presence presence) {
  Presence& known = presence_[static_cast<std::size_t>(rank)];
  if (known == Presence::come || known == Presence::dead || presence == Presence::unknown) return;
  known = presence;
  check();
}

void RollCall::check() {
  if (!done_) return;
  const bool some_alive = !all_that_are(Presence::alive).empty();
  const bool some_unknown = !all_that_are(Presence::unknown).empty();
  const auto passed = clock_.now() - begin_;
  const bool waits =
      (some_alive && passed < times::for_rank) || (some_unknown && passed < times::for_machine);
  if (waits) return;
  done_();
  done_ = nullptr;
  timer_.cancel();
}

}  // namespace rondo::control
