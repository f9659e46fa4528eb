#include "core/control/roll_call.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/control/times.h"

namespace rondo::control {
namespace {

using boost::system::error_code;

}  // namespace

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

std::string obstacle_to_going_on(const std::vector<int>& come, const std::vector<int>& may_live) {
  const bool has_lowest = !come.empty() && come.front() == may_live.front();
  if (2 * come.size() + (has_lowest ? 1 : 0) > may_live.size()) return {};
  return "only " + std::to_string(come.size()) + " of " + std::to_string(may_live.size()) +
         " ranks that may live have come: the network is cut, or a machine or a rank stands still";
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
  for (const Presence presence : {Presence::unknown, Presence::alive})
    for (const int rank : all_that_are(presence)) ask(rank);
  check();
  if (done_) ask_in(awake_step);
}

/// One connection, which is closed at once.
struct RollCall::Question {
  explicit Question(boost::asio::io_context& io) : socket(io), limit(io) {}
  boost::asio::ip::tcp::socket socket;
  boost::asio::steady_timer limit;
};

void RollCall::ask(int rank) {
  const Standby& standby = standbys_[static_cast<std::size_t>(rank)];
  error_code error;
  const auto address = boost::asio::ip::make_address(standby.address, error);
  if (error || asked_[static_cast<std::size_t>(rank)]) return;
  asked_[static_cast<std::size_t>(rank)] = true;
  const auto question = std::make_shared<Question>(io_);
  question->socket.async_connect({address, standby.port},
                                 [this, rank, question](const error_code& refused) {
                                   question->limit.cancel();
                                   asked_[static_cast<std::size_t>(rank)] = false;
                                   if (done_) answered(rank, refused);
                                 });
  question->limit.expires_after(times::for_machine);
  question->limit.async_wait([question](const error_code& cancelled) {
    error_code ignored;
    if (!cancelled) question->socket.close(ignored);
  });
}

void RollCall::answered(int rank, const error_code& error) {
  Presence& known = presence_[static_cast<std::size_t>(rank)];
  if (known == Presence::come || known == Presence::dead) return;
  if (error == boost::asio::error::connection_refused) known = Presence::dead;
  if (!error) known = Presence::alive;
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
  timer_.cancel();
  std::exchange(done_, nullptr)();
}

}  // namespace rondo::control
