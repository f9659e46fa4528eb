// Starts programs and reports how processes ended.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rondo::launch {

/// How a process ended, from wait()'s status.
class Ending {
 public:
  explicit Ending(int wait_status) : wait_status_(wait_status) {}

  bool success() const { return exit_status() == 0; }
  bool killed() const;
  /// 128 + s after signal s.
  int exit_status() const;
  int wait_status() const { return wait_status_; }
  /// "was killed by signal 9 (SIGKILL)", "exited with status 3".
  std::string text() const;

 private:
  int wait_status_;
};

/// "SIGTERM", or "signal 40" where there is no name.
std::string signal_name(int signal);

struct Spawn {
  std::vector<std::string> command{};  ///< the program is looked up in the PATH of `environment`
  std::vector<std::string> environment{};
  std::string directory{};  ///< empty: as it is
  int input = -1;           ///< descriptors to become 0, 1, 2; -1: this process's own
  int output = -1;
  int error = -1;
  std::optional<int> core{};   ///< run on the n-th core that this process may use
  sigset_t blocked_signals{};  ///< mask of the new process
};

/// Starts the program in a process group of its own; it dies with the calling process. Returns once
/// it runs. Throws LaunchError naming the program (status 127: not found, 126: not executable).
pid_t spawn(const Spawn& request);

/// How many cores this process may use.
int usable_cores();

/// Every descendant of this process that a look at /proc finds, except the children in `except` and
/// their descendants.
std::vector<pid_t> descendants(std::span<const pid_t> except = {});

/// Sends the signal to each of them. Processes that have gone do no harm.
void signal_all(std::span<const pid_t> processes, int signal);

}  // namespace rondo::launch
