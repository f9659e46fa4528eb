// How much of the driver's queues DeviceCalls uses. The driver is not asked: streams write a flag
// when they have done something.
#include <atomic>

#include "core/direct_device/device_calls.h"
#include "core/stream/wait.h"

namespace rondo::direct_device {

std::size_t DeviceCalls::entries_of_newest() const {
  constexpr std::size_t around = 2;  // waits for and records of events
  constexpr std::size_t resident = 3;
  if (running_) return around + running_->entries_left();
  return around + (messages_ ? messages_->entries_left() : resident_ ? resident : 0);
}

std::size_t DeviceCalls::entries_of_earlier() {
  const StagingHeap& heap = watcher_->heap();
  // relaxed: it orders nothing.
  const std::uint32_t completed =
      std::atomic_ref(heap.flags().completed(heap.rank())).load(std::memory_order_relaxed);
  while (!earlier_.empty() &&
         static_cast<std::int32_t>(completed -
                                   static_cast<std::uint32_t>(earlier_.front().number)) >= 0) {
    entries_of_earlier_ -= earlier_.front().entries;
    earlier_.pop_front();
  }
  return entries_of_earlier_;
}

void DeviceCalls::note_entries() {
  if (running_ && number_ != 0)
    collective_entries_ += static_cast<std::uint32_t>(running_->entries());
  if (number_ == 0) return;
  earlier_.push_back({number_, entries_of_newest()});
  entries_of_earlier_ += earlier_.back().entries;
}

void DeviceCalls::wait_for_room() {
  if (entries_of_earlier_ + entries_of_newest() < queued_entries) return;
  stream::Wait wait;
  while (entries_of_earlier() + entries_of_newest() >= queued_entries) {
    rethrow_failure();
    wait.once();
  }
}

}  // namespace rondo::direct_device
