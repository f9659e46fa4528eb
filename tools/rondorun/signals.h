// Signals as events instead of interruptions.
#pragma once

#include <signal.h>

#include <functional>

#include "core/base/unique_fd.h"
#include "tools/rondorun/event_loop.h"

namespace rondo::launch {

/// Blocks, for this process and those it forks, every signal that rondorun deals with, except those
/// that were ignored when it started (nohup). SIGPIPE and SIGTTOU become ignored.
class BlockedSignals {
 public:
  BlockedSignals();
  const sigset_t& blocked() const { return blocked_; }
  /// The signal mask that the ranks get.
  const sigset_t& before() const { return before_; }

 private:
  sigset_t blocked_{};
  sigset_t before_{};
};

/// Calls a handler with the number of each blocked signal that arrives.
class SignalSource {
 public:
  SignalSource(EventLoop& loop, const BlockedSignals& signals, std::function<void(int)> handler);
  ~SignalSource() { loop_.forget(fd_.get()); }
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;

 private:
  void read_all();

  EventLoop& loop_;
  UniqueFd fd_;
  std::function<void(int)> handler_;
};

/// Signals that ask a job to end.
bool asks_to_end(int signal);

}  // namespace rondo::launch
