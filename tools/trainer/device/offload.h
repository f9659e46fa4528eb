// Takes the optimizer's step on the host, where master weights and state lie, while the gradients
// lie on a device. The copies of one piece run while the step of its neighbour is taken.
#pragma once

#include <array>
#include <memory>

#include "tools/trainer/device/driver.h"
#include "tools/trainer/optimize/optimizer.h"

namespace rondo::train::device {

class Device;

/// Page-locked host memory, zeroed, which devices copy to and from directly while streams go on.
/// Freed with the last reference.
std::shared_ptr<std::byte> take_pinned(const Driver& driver, std::size_t bytes);

/// An event is complete when the stream has done the work that was in it when the event was
/// recorded.
class Event {
 public:
  explicit Event(const Driver& driver);
  ~Event() { driver_.status("cuEventDestroy_v2", event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent_st* get() const { return event_; }
  void record(CUstream_st* stream) const {
    driver_.call("recording an event", "cuEventRecord", event_, stream);
  }
  void finish() const { driver_.call("waiting for a stream", "cuEventSynchronize", event_); }

 private:
  const Driver& driver_;
  CUevent_st* event_ = nullptr;
};

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
