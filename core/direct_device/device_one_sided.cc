// The part of DeviceCalls that makes one-sided calls.
#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <utility>

#include "core/direct_device/device_calls.h"

namespace rondo::direct_device {
namespace {

/// Of one call in its stream, about: waits for and records of events, two batches, a copy.
constexpr std::size_t entries = 5;

}  // namespace

void DeviceCalls::check(const Put& put) const {
  if (put.bytes > 0) windows_.address(put.to, put.peer, put.bytes);
}

/// Nothing has happened where it throws.
void DeviceCalls::begin_one_sided(cuda::Stream stream) {
  rethrow_failure();
  const StagingHeap& heap = watcher_->heap();
  heap.flags().forget_reading(heap.rank());
  stream::check_context(stream, {.collective = Collective::send_recv}, context_, heap.rank());
  current_.begin(stream);
  if (!current_.capture) return;
  throw Error(ErrorCode::invalid_usage, "one-sided calls cannot be captured into a graph",
              {.rank = heap.rank(),
               .remedy = "make them before or after the capture, or use ncclSend and ncclRecv"});
}

/// Returns the call's number.
std::uint64_t DeviceCalls::enter_one_sided(Waiting waiting, Signals& signals) {
  const std::uint64_t number = watcher_->next();
  enter(std::move(waiting), number);
  wait_for_room();
  signals.begin(number);
  return number;
}

void DeviceCalls::end_one_sided(std::uint64_t number, Signals& signals) {
  signals.end(number);
  signals.put(current_.stream);
  orders_->record(current_.stream, {});
  queued_.add(number, entries);
}

void DeviceCalls::put(const Put& put, cuda::Stream stream) {
  const cuda::CurrentContext current(context_);
  const StagingHeap& heap = watcher_->heap();
  check(put);
  begin_one_sided(stream);
  guarded([&] {
    Signals signals(heap);
    if (put.bytes > 0) claim_windows(watcher_->next(), put.peer);
    const std::uint64_t number = enter_one_sided({}, signals);
    if (put.bytes > 0) {
      signals.put(stream);
      cuda::copy(windows_.address(put.to, put.peer, put.bytes), cuda::address_of(put.source),
                 put.bytes, stream);
    }
    signals.write(heap.flags().counter(heap.rank(), put.peer, put.signal),
                  ++counts_.given(put.peer, put.signal));
    end_one_sided(number, signals);
  });
}

/// Those for one peer follow each other, so that one flag says that the stream has passed them all.
Waiting DeviceCalls::waiting_for_signals(std::vector<SignalWait> waits) {
  const StagingHeap& heap = watcher_->heap();
  std::ranges::stable_sort(waits, {}, &SignalWait::peer);
  Waiting waiting;
  for (const auto& [peer, signal, count] : waits) {
    std::uint32_t& awaited = counts_.awaited(peer, signal);
    // relaxed: it only grows.
    const std::uint32_t come = std::atomic_ref(heap.flags().counter(peer, heap.rank(), signal))
                                   .load(std::memory_order_relaxed);
    if (static_cast<std::int32_t>(awaited - come) + std::int64_t{count} >
        std::numeric_limits<std::int32_t>::max())
      throw Error(ErrorCode::invalid_argument,
                  "2^31 signals " + std::to_string(signal) + " are awaited at once",
                  {.rank = heap.rank(), .peer = peer, .remedy = "wait for fewer"});
    awaited += count;
    waiting.counts.push_back({peer, signal, awaited});
    if (waiting.messages.empty() || waiting.messages.back().peer != peer) {
      waiting.messages.push_back({peer, false, "wait_signal " + std::to_string(signal)});
    } else {
      waiting.messages.back().what = "wait_signal";  // there are several
    }
  }
  return waiting;
}

void DeviceCalls::await(std::vector<SignalWait> waits, cuda::Stream stream) {
  const cuda::CurrentContext current(context_);
  const FlagSegment& flags = watcher_->heap().flags();
  const int rank = watcher_->heap().rank();
  begin_one_sided(stream);
  guarded([&] {
    Waiting waiting = waiting_for_signals(std::move(waits));
    const std::vector<Waiting::Count> counts = waiting.counts;
    Signals signals(watcher_->heap());
    const std::uint64_t number = enter_one_sided(std::move(waiting), signals);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const int peer = counts[i].peer;
      signals.reach(flags.counter(peer, rank, counts[i].signal), counts[i].reached);
      if (i + 1 == counts.size() || counts[i + 1].peer != peer)
        signals.write(flags.passed(rank, peer, false), static_cast<std::uint32_t>(number));
    }
    end_one_sided(number, signals);
  });
}

}  // namespace rondo::direct_device
