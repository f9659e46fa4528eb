#include "core/direct_device/signals.h"

#include <algorithm>
#include <utility>

namespace rondo::direct_device {

void Signals::add(unsigned operation, const std::uint32_t& word, std::uint32_t value,
                  unsigned flags) {
  operations_.push_back({.operation = operation,
                         .address = area_.page().device_address(word),
                         .value = value,
                         .flags = flags});
}

void Signals::write(const std::uint32_t& word, std::uint32_t value) {
  add(cuda::operation_write_value, word, value, cuda::write_value_default);
}

void Signals::tell(Signal kind, int place, int peer) {
  write(area_.page().signal(kind, place, area_.rank(), peer), 1);
}

void Signals::await(Signal kind, int place, int peer) {
  add(cuda::operation_wait_value, area_.page().signal(kind, place, peer, area_.rank()), 1,
      cuda::wait_value_equal);
}

void Signals::take(Signal kind, int place, int peer) {
  await(kind, place, peer);
  write(area_.page().signal(kind, place, peer, area_.rank()), 0);
}

void Signals::put(cuda::Stream stream) {
  std::vector<cuda::MemoryOperation> operations = std::exchange(operations_, {});
  for (std::size_t begin = 0; begin < operations.size(); begin += cuda::most_operations) {
    const std::size_t count = std::min(operations.size() - begin, cuda::most_operations);
    cuda::check(cuda::driver().stream_batch_mem_op(stream, static_cast<unsigned>(count),
                                                   operations.data() + begin, 0),
                "cuStreamBatchMemOp");
  }
}

}  // namespace rondo::direct_device
