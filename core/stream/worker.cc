#include "core/stream/worker.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace rondo::stream {
namespace {

/// How a thread waits for a device: what a copy of a slice takes is tens of microseconds.
class Wait {
 public:
  void reset() { waited_ = 0; }
  void once() {
    constexpr unsigned yields = 200;
    if (++waited_ < yields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

 private:
  unsigned waited_ = 0;
};

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
  std::byte* const slot = item.lane->slot(item.at);
  const Slices& slices = item.slices;
  if (!item.input_on_device) {
    const auto* const from = static_cast<const std::byte*>(item.request.input);
    for (std::size_t run = 0; run < slices.input_copies(item.at); ++run) {
      const Slices::Copy copy = slices.input_copy(item.at, run);
      std::memcpy(slot + copy.slot_offset, from + copy.buffer_offset, copy.bytes);
    }
  }
  const std::size_t count = slices.input_elements(item.at);
  if (!item.request.scale || count == 0) return;
  const void* const scalar = item.scalar_on_device ? item.lane->scalar() : item.request.scalar;
  item.request.scale(slot + slices.input_offset(item.at), count, scalar);
}

void empty(const Item& item) {
  if (item.output_on_device) return;
  const std::byte* const slot = item.lane->slot(item.at);
  auto* const to = static_cast<std::byte*>(item.request.output);
  for (std::size_t run = 0; run < item.slices.output_copies(item.at); ++run) {
    const Slices::Copy copy = item.slices.output_copy(item.at, run);
    std::memcpy(to + copy.buffer_offset, slot + copy.slot_offset, copy.bytes);
  }
}

}  // namespace

void Worker::start(std::shared_ptr<void> owner) {
  // Detached: it ends by itself after retire(), which the batches that a graph still holds may put
  // off for as long as the process lives.
  std::thread([self = shared_from_this(), owner = std::move(owner)]() mutable {
    self->work();
    owner.reset();
  }).detach();
}

void Worker::expect(const std::shared_ptr<Batch>& batch) {
  const std::scoped_lock lock(mutex_);
  ++expected_;
  batch->self = batch;
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

void Worker::rethrow_failure() {
  std::exception_ptr failure;
  {
    const std::scoped_lock lock(mutex_);
    failure = failure_;
  }
  if (failure) std::rethrow_exception(failure);
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

void Worker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !arrived_.empty() || (retired_ && expected_ == 0); });
    if (arrived_.empty()) return;
    // Ours as well: at its last answer a graph may end, be destroyed and forget it.
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
    // acquire: behind it the items' `entered` are there.
    const bool cut = batch.cut.load(std::memory_order_acquire);
    bool moved = false;
    bool over = true;
    for (Item& item : batch.items) {
      const std::size_t end = cut ? item.entered : item.slices.count();
      if (item.at >= end) continue;
      over = false;
      moved |= advance(batch, item);
    }
    if (over) return;
    if (moved) {
      wait.reset();
    } else {
      wait.once();
    }
  }
}

/// Looks once after the item's slice; true when anything happened.
bool Worker::advance(Batch& batch, Item& item) {
  try {
    if (item.running != nullptr) {
      if (!state_->test(*item.running)) return false;
      end(item);
      return true;
    }
    const bool failed = failed_.load(std::memory_order_relaxed);
    if (!failed && !may_begin(batch, item)) return false;
    if (!item.lane->take_ready(item.at)) return false;
    if (failed) {
      end(item);
    } else {
      begin(batch, item);
    }
    return true;
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
  std::byte* const slot = item.lane->slot(item.at);
  const std::byte* const input = slot + slices.input_offset(item.at);
  std::byte* const output = slot + slices.output_offset(item.at);
  const bool message = call.collective == Collective::send_recv;
  if (batch.items.size() > 1) {
    item.running = message ? state_->start(message_of(item, call), input, output, false)
                           : state_->start(call, input, output, false);
    return;
  }
  if (message) {
    state_->call(message_of(item, call), input, output);
  } else {
    state_->call(call, input, output);
  }
  end(item);
}

/// Answers the slice's flag: its call is done, or no call will be made for it any more.
void Worker::end(Item& item) {
  item.running.reset();
  if (!failed_.load(std::memory_order_relaxed)) empty(item);
  item.lane->set_done(item.at++);
}

}  // namespace rondo::stream
