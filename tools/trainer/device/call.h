// A kernel's arguments: the same few fields for all of them, so that whoever launches one knows
// which memory it reaches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::train::device {

struct Buffer {
  std::uint64_t at;     ///< a device address; 0: none
  std::uint64_t bytes;  ///< that the kernel may reach from there on
};

/// Plain data, by value, the same on the host and the device. What the fields mean: kernels.h.
struct Call {
  static constexpr std::size_t max_buffers = 6;
  Buffer buffers[max_buffers];
  std::uint64_t sizes[4];
  float numbers[8];
};

/// Of a block.
inline constexpr unsigned block_threads = 256;
/// Lanes that share a row on a device.
inline constexpr unsigned warp_lanes = 32;

}  // namespace rondo::train::device
