#include "core/nccl/background.h"

#include <chrono>
#include <utility>

#include "core/base/as_error.h"
#include "core/base/threads.h"

namespace rondo::nccl {
namespace {

/// Ends the turn, whatever the work ends with.
struct TurnEnd {
  std::promise<void>& over;
  ~TurnEnd() { over.set_value(); }
};

}  // namespace

Maker Background::in_turn(Maker maker) {
  const auto over = std::make_shared<std::promise<void>>();
  const std::scoped_lock lock(mutex_);
  const auto before = std::exchange(turn_, over->get_future().share());
  return [before, over, maker = std::move(maker)] {
    if (before.valid()) before.wait();
    const TurnEnd end{*over};
    return maker();
  };
}

void Background::start(std::shared_ptr<void> owner, Maker work) {
  std::promise<void> over;
  std::future<void> end = over.get_future();
  const std::scoped_lock lock(mutex_);
  threads_.reserve(threads_.size() + 1);  // or a thread would be forgotten
  // Detached: an abort does not wait for it.
  start_thread([owner = std::move(owner), work = std::move(work),
                over = std::move(over)]() mutable {
    try {
      work();
      over.set_value();
    } catch (const Error&) {
      over.set_exception(std::current_exception());
    } catch (const std::exception& error) {
      over.set_exception(std::make_exception_ptr(as_error(error)));
    }
  }).detach();
  error_ = nullptr;
  threads_.push_back(std::move(end));
  unfinished_.store(true, std::memory_order_relaxed);
}

void Background::keep(Pending pending) {
  const std::scoped_lock lock(mutex_);
  error_ = nullptr;
  pending_.push_back(std::move(pending));
  unfinished_.store(true, std::memory_order_relaxed);
}

bool Background::is_done() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(pending_, [&](Pending& pending) {
    try {
      return pending.work.test();
    } catch (const Error&) {
      if (!error_) error_ = std::current_exception();
      return true;
    }
  });
  std::erase_if(threads_, [&](std::future<void>& each) {
    if (each.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    try {
      each.get();
    } catch (const Error&) {
      if (!error_) error_ = std::current_exception();
    }
    return true;
  });
  const bool done = pending_.empty() && threads_.empty();
  if (done) unfinished_.store(false, std::memory_order_relaxed);
  return done;
}

std::exception_ptr Background::error() {
  const std::scoped_lock lock(mutex_);
  return error_;
}

void Background::wait_for_pending() {
  std::vector<Pending> ending;
  {
    const std::scoped_lock lock(mutex_);
    ending.swap(pending_);
  }
  for (Pending& pending : ending) {
    try {
      pending.work.wait();
    } catch (const Error&) {
      // It has ended, which is all that is asked for here.
    }
  }
}

void Background::wait_for_threads() {
  std::vector<std::future<void>> ending;
  {
    const std::scoped_lock lock(mutex_);
    ending.swap(threads_);
  }
  for (const std::future<void>& each : ending) each.wait();
}

}  // namespace rondo::nccl
