#include "core/direct_device/signals.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace rondo::direct_device {

std::size_t counted_since(std::uint32_t& word, std::uint32_t before) {
  // relaxed: it orders nothing.
  const std::uint32_t now = std::atomic_ref(word).load(std::memory_order_relaxed);
  return static_cast<std::size_t>(std::max(static_cast<std::int32_t>(now - before), 0));
}

void Signals::add(unsigned operation, const std::uint32_t& word, std::uint32_t value,
                  unsigned flags) {
  operations_.push_back({.operation = operation,
                         .address = heap_.flags().device_address(word),
                         .value = value,
                         .flags = flags});
}

void Signals::write(const std::uint32_t& word, std::uint32_t value) {
  add(cuda::operation_write_value, word, value, cuda::write_value_default);
}

void Signals::reach(const std::uint32_t& word, std::uint32_t value) {
  add(cuda::operation_wait_value, word, value, cuda::wait_value_reached);
}

void Signals::begin(std::uint64_t number) {
  const FlagSegment& flags = heap_.flags();
  const int rank = heap_.rank();
  if (number != 0) return write(flags.begun(rank), static_cast<std::uint32_t>(number));
  write(flags.began_captured(rank), 1);
  write(flags.inside_captured(rank), 1);
}

void Signals::end(std::uint64_t number) {
  const FlagSegment& flags = heap_.flags();
  const int rank = heap_.rank();
  if (number != 0) return write(flags.completed(rank), static_cast<std::uint32_t>(number));
  write(flags.inside_captured(rank), 0);
}

void Signals::tell(Signal kind, int place, int peer) {
  write(heap_.flags().signal(kind, place, heap_.rank(), peer), 1);
}

void Signals::await(Signal kind, int place, int peer) {
  add(cuda::operation_wait_value, heap_.flags().signal(kind, place, peer, heap_.rank()), 1,
      cuda::wait_value_equal);
}

void Signals::take(Signal kind, int place, int peer) {
  await(kind, place, peer);
  write(heap_.flags().signal(kind, place, peer, heap_.rank()), 0);
}

void Signals::put(cuda::Stream stream) { put_operations(std::exchange(operations_, {}), stream); }

void put_operations(std::vector<cuda::MemoryOperation> operations, cuda::Stream stream) {
  for (std::size_t begin = 0; begin < operations.size(); begin += cuda::most_operations) {
    const std::size_t count = std::min(operations.size() - begin, cuda::most_operations);
    cuda::check(cuda::driver().stream_batch_mem_op(stream, static_cast<unsigned>(count),
                                                   operations.data() + begin, 0),
                "cuStreamBatchMemOp");
  }
}

}  // namespace rondo::direct_device
