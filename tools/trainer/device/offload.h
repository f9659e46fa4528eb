// The optimizer's step on the host, where master weights and state lie, of gradients that a device
// has: copies and steps of neighbouring pieces go side by side.
#pragma once

#include <array>
#include <memory>

#include "tools/trainer/device/device.h"
#include "tools/trainer/optimize/optimizer.h"

namespace rondo::train::device {

/// One rank's; the device outlives it.
class Offload {
 public:
  explicit Offload(const Device& device);

  /// `range`: parameters and states in page-locked memory, gradients and copies on the device.
  /// When it returns, copies have the new parameters for whoever comes next in the compute stream.
  void update(const Optimizer& optimizer, const Range& range, const Step& step) const;

 private:
  /// A piece's gradients on the host.
  struct Slot {
    explicit Slot(const Driver& driver);
    Pinned gradients;
    Event filled;
  };

  void fetch(const Range& range, std::size_t begin) const;

  const Device& device_;
  std::array<Slot, 2> slots_;
};

}  // namespace rondo::train::device
