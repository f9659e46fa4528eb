// Turn: holding a communicator's progress lock, and errors meanwhile. Private to core/communicator.
#pragma once

#include <exception>
#include <mutex>

#include "core/communicator/state.h"

namespace rondo::detail {

class CommunicatorState::Turn {
 public:
  /// Both throw Error{invalid_usage} in a child by fork(), where the role may be held for ever.
  explicit Turn(CommunicatorState& state) : state_(own(state)), held_(state.role_.try_lock()) {
    if (held_) return;
    announce();
    state_.role_.lock();
    held_ = true;
    withdraw();
  }
  Turn(CommunicatorState& state, std::try_to_lock_t)
      : state_(own(state)), held_(state.role_.try_lock()) {}
  ~Turn() {
    if (!held_) return;
    // With nothing under way the background thread has nothing to do, and calls need not wake it.
    const bool wake = state_.background_.joinable() && !state_.is_idle();
    state_.role_.unlock();
    if (wake) state_.background_wakes_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool held() const { return held_; }
  /// Somebody else asks for the role.
  bool wanted() const { return state_.callers_.load(std::memory_order_relaxed) > 0; }

 private:
  static CommunicatorState& own(CommunicatorState& state) {
    state.require_own_process();
    return state;
  }
  // A hint for the background thread, which gives way; the mutex orders everything else.
  // Sequentially consistent with its look before it sleeps (Waker::arm()).
  void announce() {
    state_.callers_.fetch_add(1, std::memory_order_seq_cst);
    ring(state_.doorbell_.word());  // it may be asleep with the role in its hands
    state_.waker_.wake();
  }
  void withdraw() { state_.callers_.fetch_sub(1, std::memory_order_relaxed); }

  CommunicatorState& state_;
  bool held_ = false;
};

template <class Body>
void CommunicatorState::guarded(Body body) {
  try {
    body();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {  // no memory, say: the peers must hear of it too
    fail(Error(ErrorCode::internal, error.what(), {.rank = rank()}));
  }
}

}  // namespace rondo::detail
