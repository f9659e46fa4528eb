// Threads that stay for the next work. Starting one takes longer than most of what it does here, and ten
// times as long under sanitizers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo::device::test {

class Workers {
 public:
  using Task = std::function<void()>;

  /// Never destroyed: streams of the driver's stand-in may still run while the process exits.
  static Workers& all() {
    static Workers& all = *std::make_unique<Workers>().release();
    return all;
  }

  /// Runs the task on a thread that does nothing else meanwhile.
  void start(Task task) {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) {
      auto made = std::make_shared<Worker>();
      std::thread([this, made] { serve(made); }).detach();
      idle_.push_back(std::move(made));
    }
    idle_.back()->task = std::move(task);
    idle_.back()->given.notify_one();
    idle_.pop_back();
  }

 private:
  struct Worker {
    Task task{};  ///< none: it is idle; under the workers' mutex
    std::condition_variable given{};
  };

  void serve(const std::shared_ptr<Worker>& worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      worker->given.wait(lock, [&] { return worker->task != nullptr; });
      lock.unlock();
      worker->task();
      lock.lock();
      worker->task = nullptr;
      idle_.push_back(worker);
    }
  }

  std::mutex mutex_{};
  std::vector<std::shared_ptr<Worker>> idle_{};  ///< under mutex
};

/// How many of several tasks have not ended.
class Running {
 public:
  /// Runs it on a thread of the workers.
  static void start(const std::shared_ptr<Running>& running, const Workers::Task& task) {
    running->begin_one();
    try {
      Workers::all().start([running, task] {
        task();
        running->end_one();
      });
    } catch (...) {
      running->end_one();
      throw;
    }
  }
  void begin_one() {
    const std::scoped_lock lock(mutex_);
    ++left_;
  }
  void end_one() {
    const std::scoped_lock lock(mutex_);
    --left_;
    ended_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return left_ == 0; });
  }

 private:
  std::mutex mutex_{};
  std::condition_variable ended_{};
  std::size_t left_ = 0;
};

/// Waits for them at its end, whatever ends it.
class UntilEnded {
 public:
  explicit UntilEnded(Running& running) : running_(running) {}
  ~UntilEnded() { running_.wait(); }
  UntilEnded(const UntilEnded&) = delete;
  UntilEnded& operator=(const UntilEnded&) = delete;

 private:
  Running& running_;
};

}  // namespace rondo::device::test
