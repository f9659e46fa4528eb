// Steps: a lazy sequence of Step. An algorithm is a coroutine that yields them one by one, so a
// ring over 100,000 ranks costs one small frame per rank that is looked at, never a list.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "core/schedule/step.h"

namespace rondo {

/// Move-only generator. Single use, single thread.
class Steps {
 public:
  struct promise_type {
    Step current{};
    std::exception_ptr failure{};

    Steps get_return_object() { return Steps(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(const Step& step) noexcept {
      current = step;
      return {};
    }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }
  };
  using Handle = std::coroutine_handle<promise_type>;

  Steps(Steps&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Steps& operator=(Steps&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Steps() {
    if (handle_) handle_.destroy();
  }

  /// The next step, valid until the following call; nullptr at the end.
  const Step* next() {
    if (!handle_ || handle_.done()) return nullptr;
    handle_.resume();
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
    return handle_.done() ? nullptr : &handle_.promise().current;
  }

 private:
  explicit Steps(Handle handle) : handle_(handle) {}
  Handle handle_;
};

}  // namespace rondo
