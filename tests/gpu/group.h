// A group of ranks on one device: arenas, contexts and launches, all from one process.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/cuda/memory.h"
#include "kernels/cuda/resident.h"
#include "tests/device/lowered.h"

namespace rondo::gpu_test {

/// Arenas of one shape for all ranks of a group.
class Group {
 public:
  /// `patience`: looks before a wait gives up, so that nothing here can hang.
  Group(const device::ArenaShape& shape, std::uint64_t patience);

  const device::ArenaShape& shape() const { return shape_; }
  std::byte* const* arenas() const { return places_.as<std::byte*>(); }
  device::Control* control(std::size_t rank) const {
    return controls_.as<device::Control>() + rank;
  }
  /// The ranks whose waits ended early in any call so far, in words; empty: none.
  std::string failures() const;

 private:
  device::ArenaShape shape_;
  std::vector<device::DeviceMemory> arenas_;
  device::DeviceMemory places_;
  device::DeviceMemory controls_;
};

/// One call of all ranks, ready to be launched.
class Call {
 public:
  struct Rank {
    device::test::Prepared part;
    std::vector<std::byte> input;
    std::size_t output_bytes = 0;
    bool in_place = false;
  };
  Call(const Group& group, const std::vector<Rank>& ranks);

  void launch(void* stream) const { launch_resident(launch_, stream); }
  std::vector<std::byte> output(std::size_t rank) const;

 private:
  std::vector<device::DeviceMemory> programs_{};
  std::vector<device::DeviceMemory> inputs_{};
  std::vector<device::DeviceMemory> outputs_{};
  std::vector<device::DeviceMemory> scratch_{};
  device::DeviceMemory contexts_{};
  ResidentLaunch launch_{};
};

}  // namespace rondo::gpu_test
