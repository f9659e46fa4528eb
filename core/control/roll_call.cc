#include "core/control/roll_call.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "core/control/analyzer.h"
#include "core/control/times.h"

namespace rondo::control {
using boost::system::error_code;

namespace {

/// To the kernel of the process that listens at `standby`: a connection that is closed at once, and
/// the wait for it. `done` is never called at once. A process that is about to end still takes
/// connections for a moment, so who is alive is asked twice.
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

RollCall::RollCall(boost::asio::io_context& io, std::vector<Standby> standbys,
                   std::function<void(int rank)> settled)
    : io_(io),
      standbys_(std::move(standbys)),
      settled_(std::move(settled)),
      each_(standbys_.size()),
      timer_(io) {}

void RollCall::miss(int rank, std::chrono::milliseconds patience) {
  Each& each = each_[static_cast<std::size_t>(rank)];
  each.presence = Presence::unknown;
  each.settled = false;
  each.patience = patience;
  each.since = clock_.now();
  if (!ticks_) tick_in(std::chrono::milliseconds{0});
  ticks_ = true;
}

void RollCall::note_gone(int rank) {
  Each& each = each_[static_cast<std::size_t>(rank)];
  each.presence = Presence::unknown;
  each.settled = false;
}

void RollCall::note_dead(int rank) {
  each_[static_cast<std::size_t>(rank)].presence = Presence::dead;
}

void RollCall::note_come(int rank) {
  Each& each = each_[static_cast<std::size_t>(rank)];
  each.presence = Presence::come;
  each.settled = true;
}

std::size_t RollCall::missing() const {
  return static_cast<std::size_t>(std::ranges::count(each_, false, &Each::settled));
}

std::vector<int> RollCall::all_that_are(Presence presence) const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < each_.size(); ++rank)
    if (each_[rank].presence == presence) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::string RollCall::obstacle() const {
  std::vector<int> may_live;
  for (std::size_t rank = 0; rank < each_.size(); ++rank)
    if (each_[rank].presence != Presence::dead) may_live.push_back(static_cast<int>(rank));
  return obstacle_to_going_on(all_that_are(Presence::come), may_live);
}

void RollCall::tick_in(std::chrono::milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](const error_code& cancelled) {
    if (!cancelled) tick();
  });
}

void RollCall::tick() {
  ticks_ = missing() > 0;
  if (!ticks_) return;
  tick_in(awake_step);  // also where check() throws, for want of memory say
  // Those that are alive are on their way: a question now and then shows whether they died.
  constexpr unsigned seldom = 10;
  for (const int rank : all_that_are(Presence::unknown)) ask(rank);
  if (++rounds_ % seldom == 0)
    for (const int rank : all_that_are(Presence::alive)) ask(rank);
  check();
}

void RollCall::ask(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  Each& each = each_[at];
  if (standbys_[at].address.empty() || each.asked) return;
  const auto answered = [this, &each](Presence presence) {
    each.asked = false;
    const bool is_final = each.presence == Presence::come || each.presence == Presence::dead;
    if (is_final || presence == Presence::unknown) return;
    each.presence = presence;
    check();
  };
  std::make_shared<Question>(io_, standbys_[at], answered)->ask(times::for_machine);
  each.asked = true;
}

bool RollCall::is_over(const Each& each, AwakeClock::Clock::time_point now) const {
  const auto patience = each.presence == Presence::alive ? times::for_rank : each.patience;
  return each.presence == Presence::dead || now - each.since >= patience;
}

void RollCall::check() {
  const auto now = clock_.now();
  for (std::size_t rank = 0; rank < each_.size(); ++rank) {
    if (each_[rank].settled || !is_over(each_[rank], now)) continue;
    each_[rank].settled = true;
    try {
      settled_(static_cast<int>(rank));
    } catch (...) {  // no memory, say: at the next tick there may be
      each_[rank].settled = false;
      throw;
    }
  }
}

}  // namespace rondo::control
