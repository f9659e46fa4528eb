// What a rank does when its control connection breaks: it comes back over another one. When the
// coordinator is lost, the living rank with the lowest number serves from there on, and the others come
// to it. Each rank has a socket that listens from the bootstrap on, so that the others know where it
// will serve, and whether its process has ended.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/control/connect.h"
#include "core/control/service.h"
#include "core/control/session.h"

namespace rondo::control {

/// Where the ranks listen, as far as other hosts can reach it: on several hosts an address of the
/// machine itself leads elsewhere, and is left out.
std::vector<Standby> reachable_standbys(const Welcome& world);

class Succession {
 public:
  /// `secret`: the job's. `joined`: of the first coordinator; its standby is taken.
  Succession(int rank, const Secret& secret, Joined& joined);

  struct Found {
    Joined joined{};
    std::shared_ptr<Service> service{};  ///< null: another process serves
  };
  /// To the coordinator whose connection broke, over another one, to go on with the session. Blocks for
  /// some seconds at most. Throws Error{bootstrap} where the others have gone on without this rank. One
  /// thread at a time.
  Standing come_back(const Session& session);
  /// Blocks until this rank has come to the next coordinator, which may be this process. Empty after
  /// give_up(). Throws Error{bootstrap} where there is none that may go on. One thread at a time.
  std::optional<Found> find();
  /// The ranks of this process have ended, as its kernel said.
  void note_dead(const HostInfo& process);
  /// It has ended in order, and said who was gone before.
  void note_left(const HostInfo& process, const Closing& closing);
  /// Ends find(), now and later. Any thread.
  void give_up();

 private:
  bool is_given_up() const;
  Hello hello() const;
  std::shared_ptr<Service> serve();

  const int rank_;
  BootstrapPoint coordinator_;  ///< where it is
  const std::vector<HostInfo> hosts_;
  std::vector<Standby> standbys_;  ///< those that lead here only are empty
  UnforkedFd listening_;
  UniqueFd given_up_;
  std::vector<int> dead_{};
  std::vector<int> left_{};  ///< in order
};

}  // namespace rondo::control
