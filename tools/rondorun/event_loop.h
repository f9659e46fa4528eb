// One thread's events: descriptors that become ready, and timers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

struct pollfd;

namespace rondo::launch {

/// Calls one handler at a time; handlers may watch, forget, set and cancel anything.
/// Not thread-safe, neither copied nor moved: handlers hold references to it.
class EventLoop {
 public:
  using Handler = std::function<void()>;
  using Condition = std::function<bool()>;
  using Timer = std::uint64_t;

  EventLoop() = default;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Calls `handler` whenever `fd` has one of poll's `events` (or a hang-up or error) while
  /// `wanted` holds; without one it always does. One watch per descriptor.
  void watch(int fd, short events, Handler handler, Condition wanted = {});
  void forget(int fd) { watches_.erase(fd); }

  Timer after(std::chrono::milliseconds delay, Handler handler);
  void cancel(Timer timer);

  /// Runs until stop() is called in a handler.
  void run();
  void stop() { running_ = false; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Watch {
    short events;
    Handler handler;
    Condition wanted;
  };
  struct Deadline {
    Clock::time_point when;
    Handler handler;
  };

  std::vector<pollfd> wanted_descriptors() const;
  int poll_timeout() const;
  void call_ready(const std::vector<pollfd>& ready);
  void call_due();

  std::map<int, std::shared_ptr<Watch>> watches_;
  std::map<Timer, Deadline> timers_;
  Timer next_timer_ = 1;
  bool running_ = false;
};

}  // namespace rondo::launch
