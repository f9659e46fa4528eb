// Lane: a ring of slots in pinned memory, with two flags for each slot. Calls that follow each
// other use it on their way from a stream to the communicator and back.
//
//   stream (device)                          worker (host)
//   copies a slice into the slot             waits for `ready`, sets it to 0
//   writes ready = 1                         runs the slice's call on the slot
//   waits for done == 1, writes done = 0     writes done = 1
//   copies the slice out of the slot
//
// Neither side waits until the other has taken something from memory. Every flag is 0 again at the
// end, so a captured graph can repeat all of it. A lane serves one slice after the other.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/cuda/handles.h"
#include "core/cuda/pinned.h"

namespace rondo::stream {

class Lane {
 public:
  static constexpr std::size_t depth = 4;  ///< slots

  /// Memory of the current context. Throws CudaError.
  explicit Lane(std::size_t slot_bytes);

  std::size_t slot_bytes() const { return slot_bytes_; }
  std::byte* slot(std::size_t slice) const;
  /// Where a scalar of a reduction operator arrives with the slice, 8 bytes.
  std::byte* scalar(std::size_t slice) const;

  /// The stream's side, put into `stream`. The first says that the slice is in its slot. The second
  /// waits until it is done. The third, put straight after that wait, sets the flag back. All throw
  /// CudaError.
  void write_ready(std::size_t slice, cuda::Stream stream) const;
  void await_done(std::size_t slice, cuda::Stream stream) const;
  void reset_done(std::size_t slice, cuda::Stream stream) const;

  /// The worker's side. Acquire, pairs with the device's write, which follows its copies: once
  /// true, the slot holds the slice. Then false until the slot's next slice.
  bool take_ready(std::size_t slice) const;
  /// Release, before the device's copies out of the slot.
  void set_done(std::size_t slice) const;
  /// No stream will wait for the slice: its flag is for the slot's next one again.
  void take_back_done(std::size_t slice) const;

  /// A stream may still need the memory when this is destroyed.
  void leave() { memory_.leave(); }

 private:
  /// Written by a device and a processor in turn, so each flag has a cache line to itself.
  struct alignas(64) Flag {
    std::uint32_t value;
  };
  static constexpr std::size_t scalar_offset = 2 * depth * sizeof(Flag);
  static constexpr std::size_t head_bytes = 4096;  ///< flags, scalars; slots stay page-aligned
  static constexpr std::size_t scalar_bytes = 8;
  static_assert(scalar_offset + depth * scalar_bytes <= head_bytes);

  Flag& ready(std::size_t slice) const;
  Flag& done(std::size_t slice) const;

  std::size_t slot_bytes_;
  cuda::PinnedMemory memory_;  ///< zeroed, so no flag is set at first
};

}  // namespace rondo::stream
