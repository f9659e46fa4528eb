// How the trainer's kernel is launched.
#pragma once

namespace rondo::train::device {

/// Its name in the image.
inline constexpr const char* kernel_name = "rondo_train";
/// Threads of a block.
inline constexpr unsigned block_threads = 256;
/// Lanes that share a row on a device.
inline constexpr unsigned warp_lanes = 32;

}  // namespace rondo::train::device
