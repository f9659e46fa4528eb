// Which ranks live, when a new coordinator takes over: some come, and the processes of the others
// are asked. For .cc files only: Asio.
//
// A process that has ended refuses connections to the port where it listened, by its kernel. So a
// refusal proves a death, as the end of a connection does. Silence proves nothing: the network may be
// cut between two parts that both live, and only one of them may go on. See obstacle_to_going_on()
// in analyzer.h.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/awake.h"
#include "core/control/message.h"
#include "core/control/stream.h"

namespace rondo::control {

/// What is known of a rank.
enum class Presence : std::uint8_t {
  unknown,  ///< its process does not answer, or cannot be asked
  alive,    ///< its kernel takes connections
  dead,     ///< its kernel refuses them
  come,
};

/// Asks the kernel of the process that listens at `standby`, and calls `done` on the io_context, about
/// `limit` from now at the latest. Never at once. A process that is about to end still takes
/// connections for a moment, so who is alive is asked twice.
void ask_for_presence(boost::asio::io_context& io, const Standby& standby,
                      std::chrono::milliseconds limit, std::function<void(Presence)> done);

/// Calls `then` with why the process may live whose connection has ended so; empty: it has ended. May
/// call it at once.
void explain_end(boost::asio::io_context& io, const Standby& standby, const Stream::Ending& ending,
                 std::function<void(const std::string& unproven)> then);

/// Used on the thread of its io_context only, which is destroyed after it.
class RollCall {
 public:
  /// `dead`: ranks whose death is proven already. `done` is called once: when nobody is missing any
  /// more, or the time is up.
  RollCall(boost::asio::io_context& io, std::vector<Standby> standbys, const std::vector<int>& dead,
           std::function<void()> done);

  void note_come(int rank);
  /// It had come, and its connection has ended.
  void note_gone(int rank);
  /// Once it is done: empty, or why those who have come must not go on.
  std::string obstacle() const;
  std::vector<int> all_that_are(Presence presence) const;
  /// Of a rank that has not come: empty where its process has ended, as Coordinator::died() has it.
  std::string why_unproven(std::size_t rank) const {
    return presence_[rank] == Presence::dead ? "" : "it did not come to the process that took over";
  }

 private:
  void ask_in(std::chrono::milliseconds pause);
  void ask();
  void ask(int rank);
  void answered(int rank, Presence presence);
  void check();

  boost::asio::io_context& io_;
  const std::vector<Standby> standbys_;
  std::vector<Presence> presence_;
  std::vector<bool> asked_;     ///< and has not answered yet
  std::function<void()> done_;  ///< empty: it is done
  boost::asio::steady_timer timer_;
  unsigned rounds_ = 0;
  AwakeClock clock_{};
  const AwakeClock::Clock::time_point begin_ = clock_.now();
};

}  // namespace rondo::control
