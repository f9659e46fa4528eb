#include "tools/rondo/step/interruptions.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace rondo::tool::step {
namespace {

constexpr int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};

bool ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interruptions::Interruptions() {
  sigset_t mine;
  sigemptyset(&mine);
  for (const int signal : handled)
    if (!ignored(signal)) sigaddset(&mine, signal);
  ::sigprocmask(SIG_BLOCK, &mine, &before_);
  fd_ = UniqueFd(::signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) {
    const int reason = errno;
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    throw std::system_error(reason, std::generic_category(), "signalfd");
  }
}

Interruptions::~Interruptions() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

int Interruptions::next() {
  signalfd_siginfo information{};
  const bool came = ::read(fd_.get(), &information, sizeof information) == sizeof information;
  return came ? static_cast<int>(information.ssi_signo) : 0;
}

}  // namespace rondo::tool::step
