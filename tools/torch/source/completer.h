// Completer: the threads that end asynchronous work: copy what is to be copied, complete futures.
//
// rondo's progress thread moves the data and only passes on that a call is complete: what is
// chained to a future may take long, make further calls or wait for Python's lock, and none of that
// may hold up progress. What is chained may even wait for further work (PowerSGD's hook does),
// which then takes another thread: so there is one more whenever all are busy, up to a limit.
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
  /// What is left to do. Outlives the completer where work does.
  class Queue : public std::enable_shared_from_this<Queue> {
   public:
    /// Any thread; short. Never run where the completer has gone.
    void push(std::function<void()> task);
    /// Any thread; keeps `one` until forget() or stop(): what goes with it may take long.
    void leave(std::shared_ptr<void> one);
    /// A caller's thread.
    void forget();
    /// Ends the threads once all is done, and waits for them.
    void stop();

   private:
    static constexpr std::size_t most_threads = 16;  ///< which may wait for each other in a chain
    void work();

    std::mutex mutex_{};
    std::condition_variable wakes_{};
    std::deque<std::function<void()>> tasks_{};
    std::vector<std::thread> threads_{};
    std::vector<std::shared_ptr<void>> left_{};
    std::size_t idle_ = 0;  ///< of them
    bool stopping_ = false;
  };

  Completer() = default;
  /// Does what is queued. Not on one of its threads; without Python's lock.
  ~Completer() { queue_->stop(); }
  Completer(const Completer&) = delete;
  Completer& operator=(const Completer&) = delete;

  const std::shared_ptr<Queue>& queue() const { return queue_; }

 private:
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

}  // namespace rondo_torch
