// How a thread waits for something that does not wake it: a device's flag, or the end of a call.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace rondo::stream {

/// First it yields, as a copy of a slice takes tens of microseconds. Then it sleeps, each time an
/// eighth longer, up to a millisecond. So it is late by an eighth of the wait, and a thread that
/// waits for long wakes a thousand times a second at most. For one thread.
class Wait {
 public:
  void reset() { *this = Wait{}; }
  void once() {
    constexpr unsigned yields = 200;
    if (++waited_ < yields) return std::this_thread::yield();
    std::this_thread::sleep_for(pause_);
    pause_ = std::min<std::chrono::microseconds>(pause_ + pause_ / 8, std::chrono::milliseconds(1));
  }
  /// It has lasted for more than about 0.1 s.
  bool is_long() const { return waited_ > 320; }

 private:
  unsigned waited_ = 0;
  std::chrono::microseconds pause_{20};
};

}  // namespace rondo::stream
