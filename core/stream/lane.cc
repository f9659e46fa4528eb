#include "core/stream/lane.h"

namespace rondo::stream {

using cuda::check;
using cuda::driver;

Lane::Lane(std::size_t slot_bytes)
    : slot_bytes_(slot_bytes), memory_(head_bytes + depth * slot_bytes) {}

std::byte* Lane::slot(std::size_t slice) const {
  return memory_.data() + head_bytes + slice % depth * slot_bytes_;
}

std::byte* Lane::scalar(std::size_t slice) const {
  return memory_.data() + scalar_offset + slice % depth * scalar_bytes;
}

Lane::Flag& Lane::ready(std::size_t slice) const {
  return reinterpret_cast<Flag*>(memory_.data())[slice % depth];
}

Lane::Flag& Lane::done(std::size_t slice) const {
  return reinterpret_cast<Flag*>(memory_.data())[depth + slice % depth];
}

void Lane::write_ready(std::size_t slice, cuda::Stream stream) const {
  // After a fence: the copies before it are seen first.
  cuda::write_value(memory_.device_address(&ready(slice)), 1, stream);
}

void Lane::await_done(std::size_t slice, cuda::Stream stream) const {
  const cuda::DevicePointer flag = memory_.device_address(&done(slice));
  check(driver().stream_wait_value(stream, flag, 1, cuda::wait_value_equal), "cuStreamWaitValue32");
}

/// A flag that stayed set would let a graph that uses the lane, too, run ahead of its slices. So a
/// refused write is tried once more before the refusal ends the call.
void Lane::reset_done(std::size_t slice, cuda::Stream stream) const {
  const cuda::DevicePointer flag = memory_.device_address(&done(slice));
  try {
    cuda::write_value(flag, 0, stream);
  } catch (const cuda::CudaError&) {
    driver().stream_write_value(stream, flag, 0, cuda::write_value_default);
    throw;
  }
}

bool Lane::take_ready(std::size_t slice) const {
  const std::atomic_ref<std::uint32_t> flag(ready(slice).value);
  if (flag.load(std::memory_order_acquire) == 0) return false;
  // relaxed: the device writes it again only after set_done() of this slot.
  flag.store(0, std::memory_order_relaxed);
  return true;
}

void Lane::set_done(std::size_t slice) const {
  std::atomic_ref<std::uint32_t>(done(slice).value).store(1, std::memory_order_release);
}

void Lane::take_back_done(std::size_t slice) const {
  // relaxed: what the device is to see next comes after the slot's next set_done().
  std::atomic_ref<std::uint32_t>(done(slice).value).store(0, std::memory_order_relaxed);
}

}  // namespace rondo::stream
