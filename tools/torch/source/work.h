// Work: the object that torch gets for a call. It can be waited for and has a future.
//
// It is completed once, by the first of these:
//
//   - a thread that waits; it then also moves the data
//   - a thread that asks, after the data has been moved
//   - the completer, which is woken only if a future or a copy waits for it
//
// Tensors are kept until then.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "tools/torch/source/call.h"
#include "tools/torch/source/completer.h"
#include "tools/torch/source/group.h"

namespace rondo_torch {

class Work : public c10d::Work {
 public:
  /// `timeout` 0: the group's.
  Work(std::shared_ptr<Group> group, Plan plan, std::uint64_t sequence,
       std::chrono::milliseconds timeout);

  /// Makes the calls and returns when they are complete. Throws their error.
  void run();
  /// Begins the calls; `completer` ends them. Throws their error.
  void start(Completer& completer);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override { return plan_.source; }
  std::vector<at::Tensor> result() override;
  void synchronize() override {}
  /// Throws the error of this rank or of another. A timeout aborts the group on every rank, as the
  /// call's buffers are in use. 0: waits as long as the group's timeout lets peers be silent.
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  std::uint64_t getSequencenumber() const override { return sequence_; }
  std::chrono::milliseconds getTimeout() const override { return timeout_; }

 private:
  void make_calls();
  void run_last_tasks() const;
  void begin_calls();
  void parts_are_over(Completer::Queue& queue);
  void complete();
  void complete_claimed();
  std::exception_ptr finish_parts();
  void set_complete(std::exception_ptr failure);
  void settle_future();
  void await_parts(std::chrono::milliseconds timeout);
  bool await_parts_over(std::chrono::milliseconds timeout);

  std::shared_ptr<Group> group_;
  Plan plan_;
  std::vector<rondo::Work> parts_{};
  std::atomic<std::size_t> unfinished_{0};  ///< parts, for the one that comes last
  std::uint64_t sequence_;
  std::chrono::milliseconds timeout_;
  bool has_last_tasks_;
  bool claimed_ = false;     ///< under mutex_: a thread completes it, or has
  bool parts_over_ = false;  ///< under mutex_: complete() has nothing to wait for
  c10::intrusive_ptr<c10::ivalue::Future> future_{};  ///< under mutex_; made when asked for
};

}  // namespace rondo_torch
