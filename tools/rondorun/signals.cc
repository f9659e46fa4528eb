#include "tools/rondorun/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {
namespace {

constexpr int handled[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,  SIGUSR1,
                           SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD};

bool ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

BlockedSignals::BlockedSignals() {
  ::signal(SIGCHLD, SIG_DFL);  // were it ignored, no child could be waited for
  sigemptyset(&blocked_);
  for (const int signal : handled)
    if (!ignored(signal)) sigaddset(&blocked_, signal);
  ::sigprocmask(SIG_BLOCK, &blocked_, &before_);
  ::signal(SIGPIPE, SIG_IGN);
  // Ranks are in process groups of their own, which a terminal takes for the background. With "stty
  // tostop" it would stop them when they write. Ranks ignore the signals that are ignored here.
  ::signal(SIGTTOU, SIG_IGN);
}

SignalSource::SignalSource(EventLoop& loop, const BlockedSignals& signals,
                           std::function<void(int)> handler)
    : loop_(loop),
      fd_(::signalfd(-1, &signals.blocked(), SFD_CLOEXEC | SFD_NONBLOCK)),
      handler_(std::move(handler)) {
  if (!fd_) throw system_error("signalfd");
  loop_.watch(fd_.get(), POLLIN, [this] { read_all(); });
}

void SignalSource::read_all() {
  signalfd_siginfo information{};
  while (::read(fd_.get(), &information, sizeof information) == sizeof information)
    handler_(static_cast<int>(information.ssi_signo));
}

bool asks_to_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace rondo::launch
