// Which ranks live, of those that are not connected to the coordinator: all of them when it has just
// taken over, later those whose connection broke. Some come, and the processes of the others are asked.
// For .cc files only: Asio.
//
// A process that has ended refuses connections to the port where it listened, by its kernel. So a
// refusal proves a death. Silence proves nothing: the network may be cut between two parts that both
// live, and only one of them may go on. See obstacle_to_going_on() in analyzer.h.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/awake.h"
#include "core/control/message.h"
#include "core/control/stream.h"

namespace rondo::control {

/// Used on the thread of its io_context only, which is destroyed after it.
class RollCall {
 public:
  /// `standbys`: by rank, all of which are there. `settled`: a rank has been missing for too long, or
  /// is dead.
  RollCall(boost::asio::io_context& io, std::vector<Standby> standbys,
           std::function<void(int rank)> settled);

  /// Waits for it from here on: `patience` long if its process does not answer, times::for_rank if it
  /// lives.
  void miss(int rank, std::chrono::milliseconds patience);
  /// It had come, and has gone again: its time runs on.
  void note_gone(int rank);
  void note_dead(int rank);
  /// It is there, also after it was settled.
  void note_come(int rank);
  /// How many are waited for.
  std::size_t missing() const;
  Presence presence(int rank) const { return each_[static_cast<std::size_t>(rank)].presence; }
  /// Empty, or why those who have come must not go on.
  std::string obstacle() const;

 private:
  struct Each {
    Presence presence = Presence::come;
    bool settled = true;  ///< it is not waited for
    bool asked = false;   ///< and has not answered yet
    std::chrono::milliseconds patience{};
    AwakeClock::Clock::time_point since{};
  };
  void tick_in(std::chrono::milliseconds pause);
  void tick();
  void ask(int rank);
  void check();
  bool is_over(const Each& each, AwakeClock::Clock::time_point now) const;
  std::vector<int> all_that_are(Presence presence) const;

  boost::asio::io_context& io_;
  const std::vector<Standby> standbys_;
  const std::function<void(int rank)> settled_;
  std::vector<Each> each_;
  boost::asio::steady_timer timer_;
  bool ticks_ = false;
  unsigned rounds_ = 0;
  AwakeClock clock_{};
};

}  // namespace rondo::control
