// Takes the optimizer's step on the host, where master weights and state lie, while the gradients
// lie on a device. The copies of one piece run while the step of its neighbour is taken.
#pragma once

#include <array>

#include "tools/trainer/device/device.h"

namespace rondo::train::device {

/// Belongs to one rank; the device outlives it.
class Offload {
 public:
  explicit Offload(const Device& device);

  /// `range`: parameters and states lie in page-locked memory, gradients and copies on the device.
  /// On return, later work in the compute stream finds the new parameters in the copies.
  void update(const Optimizer& optimizer, const Range& range, const Step& step) const;

 private:
  /// A piece's gradients on the host.
  struct Slot {
    explicit Slot(const Driver& driver);
    std::shared_ptr<std::byte> gradients;
    Event filled;
  };

  void fetch(const Range& range, std::size_t begin) const;

  const Device& device_;
  std::array<Slot, 2> slots_;
};

}  // namespace rondo::train::device
