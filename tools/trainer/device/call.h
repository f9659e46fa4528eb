// The arguments of a kernel. All kernels have the same few fields, so the code that launches one
// knows which memory it reaches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::train::device {

struct Buffer {
  std::uint64_t at;     ///< a device address; 0: none
  std::uint64_t bytes;  ///< how many the kernel may reach from there
};

/// Plain data, passed by value, with the same layout on host and device. kernels.h says what the
/// fields mean.
struct Call {
  static constexpr std::size_t max_buffers = 6;
  Buffer buffers[max_buffers];
  std::uint64_t sizes[4];
  float numbers[8];
};

/// Threads of a block.
inline constexpr unsigned block_threads = 256;
/// Lanes that share a row on a device.
inline constexpr unsigned warp_lanes = 32;

}  // namespace rondo::train::device
