#include "tools/torch/source/completer.h"

#include <utility>

namespace rondo_torch {

void Completer::Queue::push(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    if (idle_ < tasks_.size() && threads_.size() < most_threads && !stopping_)
      threads_.emplace_back([self = shared_from_this()] { self->work(); });
  }
  wakes_.notify_one();
}

void Completer::Queue::leave(std::shared_ptr<void> one) {
  const std::scoped_lock lock(mutex_);
  left_.push_back(std::move(one));
}

void Completer::Queue::forget() {
  std::vector<std::shared_ptr<void>> left;  // goes after the lock
  const std::scoped_lock lock(mutex_);
  left.swap(left_);
}

void Completer::Queue::stop() {
  std::vector<std::thread> threads;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  wakes_.notify_all();
  for (std::thread& thread : threads) thread.join();
  forget();
}

void Completer::Queue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wakes_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;
    {
      const std::function<void()> task = std::exchange(tasks_.front(), nullptr);
      tasks_.pop_front();
      lock.unlock();
      task();
    }  // what it kept alive goes without the lock
    lock.lock();
  }
}

}  // namespace rondo_torch
