#include "core/stream/worker.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "core/base/threads.h"
#include "core/stream/wait.h"

namespace rondo::stream {
namespace {

detail::Message message_of(const Item& item, const Call& call) {
  return {call, item.request.peer, item.request.sends};
}

/// Whether all calls that must begin before the item's next one have begun.
bool may_begin(const Batch& batch, const Item& item) {
  if (!item.behind) return true;
  const Item& before = batch.items[*item.behind];
  return before.at + (before.running != nullptr ? 1 : 0) >= before.slices.count();
}

/// What a slice's input in host memory, and its operator's scalar, still need.
void fill(Item& item) {
  const std::size_t number = item.first + item.at;
  std::byte* const slot = item.lane().slot(number);
  const Slices& slices = item.slices;
  if (!item.request.where.input.on_device) {
    const auto* const from = static_cast<const std::byte*>(item.request.input);
    for (std::size_t run = 0; run < slices.input_copies(item.at); ++run) {
      const Slices::Copy copy = slices.input_copy(item.at, run);
      if (copy.bytes > 0)
        std::memcpy(slot + copy.slot_offset, from + copy.buffer_offset, copy.bytes);
    }
  }
  const std::size_t count = slices.input_elements(item.at);
  if (!item.request.scale || count == 0) return;
  const void* const scalar =
      item.scalar_on_device ? item.lane().scalar(number) : item.request.scalar;
  std::byte* const input = slot + slices.input_offset(item.at);
  item.request.scale(input, input, count, scalar);
}

void empty(const Item& item) {
  if (item.request.where.output.on_device) return;
  const std::byte* const slot = item.lane().slot(item.first + item.at);
  auto* const to = static_cast<std::byte*>(item.request.output);
  for (std::size_t run = 0; run < item.slices.output_copies(item.at); ++run) {
    const Slices::Copy copy = item.slices.output_copy(item.at, run);
    if (copy.bytes > 0) std::memcpy(to + copy.buffer_offset, slot + copy.slot_offset, copy.bytes);
  }
}

/// Ranks that hold a long call's buffers in memory of different kinds cut it differently, so they
/// disagree about its count: the words must say why. Called while `error` is being handled.
[[noreturn]] void throw_with_hint(const Error& error, const Item& item) {
  if (error.code() != ErrorCode::mismatch || item.slices.count() == 1) throw;
  ErrorDetails details = error.details();
  details.remedy += "; this rank makes " + to_string(item.request.call) + " in " +
                    std::to_string(item.slices.count()) +
                    " slices, as in a stream: have the buffers of all ranks on GPUs, or of all in "
                    "host memory";
  throw Error(error.code(), error.message(), std::move(details));
}

/// Called when a batch that was put into its stream in part has come to its end. Takes back answers
/// that nobody waits for, as graphs may use the lanes once more.
void take_back_answers(const Batch& batch) {
  for (const Item& item : batch.items) {
    for (std::size_t slice = item.left; slice < item.entered; ++slice)
      item.lane().take_back_done(item.first + slice);
  }
}

}  // namespace

void Worker::start(std::shared_ptr<void> owner) {
  // Detached: it ends by itself after retire(), which the batches that a graph still holds may put
  // off for as long as the process lives.
  start_thread([self = shared_from_this(), owner = std::move(owner)]() mutable {
    self->work();
    owner.reset();
  }).detach();
}

void Worker::expect(const std::shared_ptr<Batch>& batch) {
  const std::scoped_lock lock(mutex_);
  ++expected_;
  batch->self = batch;
}

void Worker::leave_to_graph(Batch& batch) {
  const std::scoped_lock lock(mutex_);
  batch.captured = true;
  ++captured_;
}

void Worker::arrive(Batch& batch) noexcept {
  const std::scoped_lock lock(mutex_);
  arrived_.push_back(batch.self);
  changed_.notify_one();
}

void Worker::forget(Batch& batch) noexcept {
  std::shared_ptr<Batch> last;  // dies after the lock is gone
  const std::scoped_lock lock(mutex_);
  last = std::move(batch.self);
  --expected_;
  changed_.notify_one();
}

/// The batch holds its worker, and may be the last that does. If the thread has not waited for the
/// batch, because its context was lost, the batch goes with another thread.
void Worker::forget_captured(Batch& batch) noexcept {
  std::shared_ptr<Batch> late;
  {
    const std::scoped_lock lock(mutex_);
    --expected_;
    --captured_;
    changed_.notify_one();
    (ended_ ? late : forgotten_) = std::move(batch.self);
  }
  if (late == nullptr) return;
  try {
    start_thread([late = std::move(late)] {}).detach();
  } catch (const std::exception&) {
    // It was let go of here instead: there is no thread left, or no memory for it.
  }
}

void Worker::rethrow_failure() {
  std::exception_ptr failure;
  bool is_busy = false;
  {
    const std::scoped_lock lock(mutex_);
    failure = failure_;
    is_busy = expected_ > 0;
  }
  if (!failure && (is_busy || is_lost()) && look_for_loss()) return rethrow_failure();
  if (failure) std::rethrow_exception(failure);
}

void Worker::refuse_after_failure() {
  rethrow_failure();
  const auto known = state_->failure();
  if (!known) return;
  rethrow_failure();  // this rank's own, set before the communicator learns of it
  throw Error(*known);
}

void Worker::fail(const char* words) {
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    failed_.store(true, std::memory_order_relaxed);
  }
  if (!state_->failure()) state_->abort(words);
}

void Worker::retire() {
  const std::scoped_lock lock(mutex_);
  retired_ = true;
  changed_.notify_one();
}

bool Worker::is_kept() {
  const std::scoped_lock lock(mutex_);
  return captured_ > 0;
}

bool Worker::look_for_loss() {
  const int status = watch_->look();
  if (status == cuda::success) return false;
  try {
    throw Watch::loss(status, state_->rank());
  } catch (const cuda::CudaError& error) {
    fail(error.what());
  }
  return true;
}

/// With the mutex held.
bool Worker::is_over() const { return retired_ && (expected_ == 0 || is_lost()); }

/// While a batch is still to come after the last call, asks after the context, ever more seldom: a
/// graph may keep a batch for as long as the process lives.
void Worker::wait_for_batch(std::unique_lock<std::mutex>& lock) {
  const auto has_come = [&] { return !arrived_.empty() || is_over(); };
  std::chrono::seconds pause{1};
  while (!has_come()) {
    if (!retired_) {
      changed_.wait(lock, [&] { return retired_ || has_come(); });
    } else if (!changed_.wait_for(lock, pause, has_come)) {
      pause = std::min<std::chrono::seconds>(2 * pause, std::chrono::minutes(1));
      lock.unlock();
      look_for_loss();
      lock.lock();
    }
  }
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wait_for_batch(lock);
    if (arrived_.empty()) {
      ended_ = true;
      return forgotten_.reset();  // the caller holds this
    }
    // The worker holds it, too: at its last answer a graph may end, be destroyed and forget it.
    std::shared_ptr<Batch> batch = std::move(arrived_.front());
    arrived_.pop_front();
    lock.unlock();
    run(*batch);
    if (!batch->captured) forget(*batch);
    batch.reset();
    lock.lock();
  }
}

void Worker::run(Batch& batch) {
  for (Item& item : batch.items) item.at = 0;
  Wait wait;
  for (;;) {
    // acquire: after it the items' `entered` are there.
    const bool cut = batch.cut.load(std::memory_order_acquire);
    bool moved = false;
    bool over = true;
    for (Item& item : batch.items) {
      const std::size_t end = cut ? item.entered : item.slices.count();
      if (item.running == nullptr && (item.at >= end || is_lost())) continue;
      over = false;
      moved |= advance(batch, item);
    }
    if (over) {
      if (is_lost()) look_for_loss();  // which tells the other ranks
      if (cut) take_back_answers(batch);
      return;
    }
    if (moved) {
      wait.reset();
    } else {
      wait.once();
      if (wait.is_long()) look_for_loss();
    }
  }
}

/// Looks once after the item's slice; true when anything happened.
bool Worker::advance(Batch& batch, Item& item) {
  try {
    if (item.running != nullptr) {
      if (!state_->progress().test(*item.running)) return false;
      end(item);
      return true;
    }
    // Later items share its slots, so their order holds after a failure, too.
    if (!may_begin(batch, item)) return false;
    if (!item.lane().take_ready(item.first + item.at)) return false;
    if (failed_.load(std::memory_order_relaxed)) {
      end(item);
    } else {
      begin(batch, item);
    }
    return true;
  } catch (const Error& error) {
    try {
      throw_with_hint(error, item);
    } catch (const std::exception& hinted) {
      fail(hinted.what());
    }
  } catch (const std::exception& error) {
    fail(error.what());
  }
  end(item);
  return true;
}

/// Alone, a call runs on this thread; together, calls go on in the background.
void Worker::begin(Batch& batch, Item& item) {
  fill(item);
  const Slices& slices = item.slices;
  const Call call = slices.call(item.at);
  const std::vector<std::size_t> counts = slices.counts(item.at);
  std::byte* const slot = item.lane().slot(item.first + item.at);
  const std::byte* const input = slot + slices.input_offset(item.at);
  std::byte* const output = slot + slices.output_offset(item.at);
  const bool message = call.collective == Collective::send_recv;
  if (batch.items.size() > 1) {
    item.running = message ? state_->start(message_of(item, call), input, output, false)
                           : state_->start(call, input, output, false, counts);
    return;
  }
  if (message) {
    state_->call(message_of(item, call), input, output);
  } else {
    state_->call(call, input, output, counts);
  }
  end(item);
}

/// Answers the slice's flag: its call is done, or no call will be made for it any more.
void Worker::end(Item& item) {
  item.running.reset();
  if (!failed_.load(std::memory_order_relaxed)) empty(item);
  item.lane().set_done(item.first + item.at++);
  item.kind->answered.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace rondo::stream
