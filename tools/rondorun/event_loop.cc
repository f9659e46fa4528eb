#include "tools/rondorun/event_loop.h"

#include <poll.h>

#include <algorithm>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {

void EventLoop::watch(int fd, short events, Handler handler, Condition wanted) {
  watches_[fd] = std::make_shared<Watch>(Watch{events, std::move(handler), std::move(wanted)});
}

EventLoop::Timer EventLoop::after(std::chrono::milliseconds delay, Handler handler) {
  timers_[next_timer_] = Deadline{Clock::now() + delay, std::move(handler)};
  return next_timer_++;
}

void EventLoop::cancel(Timer timer) { timers_.erase(timer); }

void EventLoop::run() {
  running_ = true;
  while (running_) {
    auto descriptors = wanted_descriptors();
    const int count = ::poll(descriptors.data(), descriptors.size(), poll_timeout());
    if (count < 0 && errno != EINTR) throw system_error("poll");
    if (count > 0) call_ready(descriptors);
    call_due();
  }
}

std::vector<pollfd> EventLoop::wanted_descriptors() const {
  std::vector<pollfd> descriptors;
  for (const auto& [fd, watch] : watches_)
    if (!watch->wanted || watch->wanted()) descriptors.push_back({fd, watch->events, 0});
  return descriptors;
}

int EventLoop::poll_timeout() const {
  if (timers_.empty()) return -1;
  auto first = Clock::time_point::max();
  for (const auto& [timer, deadline] : timers_) first = std::min(first, deadline.when);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now());
  return static_cast<int>(std::clamp<long long>(left.count(), 0, 3600 * 1000));
}

void EventLoop::call_ready(const std::vector<pollfd>& ready) {
  // The watches as they were at poll(): a handler may forget a descriptor whose number is then
  // used again for something else.
  std::vector<std::pair<int, std::shared_ptr<Watch>>> due;
  for (const pollfd& descriptor : ready)
    if (descriptor.revents != 0) due.emplace_back(descriptor.fd, watches_.at(descriptor.fd));
  for (const auto& [fd, watch] : due) {
    const auto current = watches_.find(fd);
    if (running_ && current != watches_.end() && current->second == watch) watch->handler();
  }
}

void EventLoop::call_due() {
  const auto now = Clock::now();
  std::vector<Timer> due;
  for (const auto& [timer, deadline] : timers_)
    if (deadline.when <= now) due.push_back(timer);
  for (const Timer timer : due) {
    const auto found = timers_.find(timer);
    if (!running_ || found == timers_.end()) continue;
    const Handler handler = std::move(found->second.handler);
    timers_.erase(found);
    handler();
  }
}

}  // namespace rondo::launch
