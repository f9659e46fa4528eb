// The part of DeviceCalls that deals with windows.
#include <atomic>
#include <chrono>
#include <thread>

#include "core/direct_device/device_calls.h"

namespace rondo::direct_device {
namespace {

/// How long a failed communicator keeps memory for a peer whose stream may still read it.
constexpr std::chrono::seconds most_patience_with_readers{5};
/// How long a replay may do other things between two calls.
constexpr std::chrono::seconds between_captured_calls{1};

}  // namespace

std::uint32_t DeviceCalls::register_window(const void* buffer, std::size_t bytes) {
  const cuda::CurrentContext current(context_);
  return windows_.add(&watcher_->state(), buffer, bytes);
}

void DeviceCalls::deregister_window(std::uint32_t number) {
  if (watcher_->has_failed()) withdraw();
  const cuda::CurrentContext current(context_);
  windows_.remove(number);
}

/// For the call `number`, as Running's. From here on the owners of windows wait for this rank: see
/// withdraw(). Throws where one of them, or `only` that rank, has ended the communicator.
void DeviceCalls::claim_windows(std::uint64_t number, std::optional<int> only) const {
  const StagingHeap& heap = watcher_->heap();
  const FlagSegment& flags = heap.flags();
  const std::atomic_ref reading(flags.reading(heap.rank()));
  const std::uint32_t before = reading.load(std::memory_order_relaxed);  // written by this thread
  // seq_cst, as withdraw(): each stores one and loads the other, so one of them sees both.
  if (number != 0) reading.store(FlagSegment::reading_number(number), std::memory_order_seq_cst);
  for (int peer = 0; peer < heap.ranks(); ++peer) {
    if (peer != only.value_or(peer)) continue;
    if (std::atomic_ref(flags.withdrawn(peer)).load(std::memory_order_seq_cst) == 0) continue;
    reading.store(before, std::memory_order_seq_cst);
    throw Error(ErrorCode::aborted, "a peer has ended this communicator",
                {.rank = heap.rank(), .peer = peer, .remedy = "make a new one"});
  }
}

DeviceCalls::Readers DeviceCalls::find_readers() const {
  const StagingHeap& heap = watcher_->heap();
  const FlagSegment& flags = heap.flags();
  const std::uint32_t unnoticed = std::uint32_t{1} << heap.rank();
  Readers found;
  for (int peer = 0; peer < heap.ranks(); ++peer) {
    if (peer == heap.rank()) continue;
    // acquire: what graphs that are gone did is done. relaxed: what began is asked for again.
    const bool graphs = std::atomic_ref(flags.captured(peer)).load(std::memory_order_acquire) != 0;
    const std::uint32_t replayed =
        graphs
            ? std::atomic_ref(flags.replayed(peer)).fetch_and(~unnoticed, std::memory_order_relaxed)
            : 0;
    const bool busy = (replayed & unnoticed) != 0 || flags.uses_windows(peer);
    if ((!busy && !graphs) || !heap.lives(peer)) continue;
    found.busy |= busy;
    found.graphs |= graphs;
  }
  return found;
}

void DeviceCalls::withdraw() {
  using Clock = std::chrono::steady_clock;
  const StagingHeap& heap = watcher_->heap();
  // seq_cst: see claim_windows().
  std::atomic_ref(heap.flags().withdrawn(heap.rank())).store(1, std::memory_order_seq_cst);
  const std::scoped_lock lock(withdrawal_.mutex);
  const bool failed = watcher_->has_failed();
  if (failed && !withdrawal_.failed_at) withdrawal_.failed_at = Clock::now();
  const Clock::time_point end =
      withdrawal_.failed_at.value_or(Clock::now()) + most_patience_with_readers;
  Clock::time_point quiet_since = Clock::now();
  while (!withdrawal_.released && Clock::now() < end) {
    const Readers readers = find_readers();
    if (readers.busy) quiet_since = Clock::now();
    const bool between_calls =
        failed && readers.graphs && Clock::now() - quiet_since < between_captured_calls;
    if (!readers.busy && !between_calls) break;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  withdrawal_.released = failed;
}

}  // namespace rondo::direct_device
