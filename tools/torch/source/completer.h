// Completer: the threads that finish asynchronous work. They copy results and complete futures.
//
// rondo's progress thread moves the data and only reports that a call is complete. Callbacks of a
// future may take long, make further calls or wait for Python's lock, and must not hold up
// progress. A callback may even wait for further work, as PowerSGD's hook does. That work needs
// another thread, so one is added whenever all are busy, up to a limit.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo_torch {

class Completer {
 public:
  /// The tasks. The queue outlives the completer if work does.
  class Queue : public std::enable_shared_from_this<Queue> {
   public:
    /// Any thread; returns soon. The task is not run if the completer has gone.
    void push(std::function<void()> task);
    /// Any thread. Keeps `one` until forget() or stop(), as its destruction may take long.
    void leave(std::shared_ptr<void> one);
    /// Called on a thread that makes calls: drops what leave() has kept.
    void forget();
    /// Ends the threads once all is done, and waits for them.
    void stop();

   private:
    static constexpr std::size_t most_threads = 16;  ///< they may wait for each other in a chain
    void work();

    std::mutex mutex_{};
    std::condition_variable wakes_{};
    std::deque<std::function<void()>> tasks_{};
    std::vector<std::thread> threads_{};
    std::vector<std::shared_ptr<void>> left_{};
    std::size_t idle_ = 0;  ///< threads that have nothing to do
    bool stopping_ = false;
  };

  Completer() = default;
  /// Runs the queued tasks. Not on one of its threads; without Python's lock.
  ~Completer() { queue_->stop(); }
  Completer(const Completer&) = delete;
  Completer& operator=(const Completer&) = delete;

  const std::shared_ptr<Queue>& queue() const { return queue_; }

 private:
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

}  // namespace rondo_torch
