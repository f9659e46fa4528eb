#include "tools/rondorun/front.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <vector>

#include "tools/rondorun/launch_error.h"
#include "tools/rondorun/process.h"

namespace rondo::launch {
namespace {

/// Children that this process had before exec made it rondorun. It leaves them alone.
std::vector<pid_t> earlier_children() {
  siginfo_t information{};
  const bool any = ::waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0;
  return any ? descendants() : std::vector<pid_t>();
}

/// Kills until no child is left except `spared`.
void kill_descendants(const std::vector<pid_t>& spared) {
  const timespec pause{0, 10'000'000};
  while (true) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    const auto processes = descendants(spared);
    if (processes.empty()) return;
    signal_all(processes, SIGKILL);
    ::nanosleep(&pause, nullptr);
  }
}

/// Passes signals on until `supervisor` has ended.
Ending watch(pid_t supervisor, const BlockedSignals& signals) {
  while (true) {
    int status = 0;
    // Others than the supervisor are left alone here: its ending is what counts.
    if (::waitpid(supervisor, &status, WNOHANG) == supervisor) return Ending(status);
    const int signal = ::sigwaitinfo(&signals.blocked(), nullptr);
    if (signal < 0 || signal == SIGCHLD) continue;
    ::kill(supervisor, signal);
    if (signal == SIGTSTP) ::raise(SIGSTOP);
  }
}

}  // namespace

int run_guarded(const BlockedSignals& signals, const std::function<int(const UniqueFd&)>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("pipe");
  UniqueFd lifeline(ends[0]);
  UniqueFd held(ends[1]);
  const auto spared = earlier_children();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t supervisor = ::fork();
  if (supervisor < 0) throw system_error("cannot start another process");
  if (supervisor == 0) {
    held.reset();
    ::setpgid(0, 0);  // out of the terminal's foreground: its signals come through the front
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // not inherited
    return work(lifeline);
  }
  lifeline.reset();
  const Ending ending = watch(supervisor, signals);
  kill_descendants(spared);
  return ending.exit_status();
}

}  // namespace rondo::launch
