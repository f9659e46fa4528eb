// A CUDA device as one rank uses it: a context, two streams, memory, and the trainer's kernel.
#pragma once

#include <array>
#include <memory>

#include "tools/trainer/device/driver.h"
#include "tools/trainer/machine/machine.h"

namespace rondo::train::device {

/// Page-locked host memory, zeroed, which devices copy to and from directly while streams go on.
/// Freed with the last reference.
std::shared_ptr<std::byte> take_pinned(const Driver& driver, std::size_t bytes);

/// An event is complete when the stream has done the work that was in it when the event was
/// recorded.
class Event {
 public:
  explicit Event(const Driver& driver);
  ~Event() { driver_.event_destroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent_st* get() const { return event_; }
  void record(CUstream_st* stream) const {
    driver_.check(driver_.event_record(event_, stream), "recording an event");
  }
  void finish() const { driver_.check(driver_.event_finish(event_), "waiting for a stream"); }

 private:
  const Driver& driver_;
  CUevent_st* event_ = nullptr;
};

/// Belongs to one rank and to the thread that made it, whose current context it is. Operations go
/// into compute(), in order. Collectives and copies that run beside them go into side().
class Device {
 public:
  /// The device of this rank: ranks of a machine take its devices in turn. Throws
  /// Error{invalid_usage} if there is none or rondo was built without nvcc, and Error if the driver
  /// refuses.
  Device(const Libraries& libraries, int rank);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Driver& driver() const { return driver_; }
  CUstream_st* compute() const { return streams_[0]; }
  CUstream_st* side() const { return streams_[1]; }

  /// `threads`: as many are enough. Returns at once; nothing for 0 of them.
  void launch(const Call& call, std::size_t threads) const;
  /// The device's free memory, which all ranks on it share.
  CommonMemory common_memory() const;
  /// Zeroed. It is freed with the last reference. The driver first completes the work under way.
  std::shared_ptr<void> take(std::size_t bytes) const;
  void zero(void* memory, std::size_t bytes) const;
  /// Copies between device and page-locked memory, in a stream.
  void copy(const void* from, void* into, std::size_t bytes, CUstream_st* stream) const;
  /// Work that is put into `later` from now on waits for the work in `earlier`.
  void follow(CUstream_st* later, CUstream_st* earlier) const;
  void finish(CUstream_st* stream) const;
  /// They copy between device memory and the process's own, after the work in compute(). The copy
  /// is done when they return.
  void read(const void* from, void* into, std::size_t bytes) const;
  void write(const void* from, void* into, std::size_t bytes) const;

 private:
  void open(int rank);
  void load();

  Driver driver_;
  int number_ = 0;
  CUctx_st* context_ = nullptr;
  std::array<CUstream_st*, 2> streams_{};
  CUfunc_st* kernel_ = nullptr;
  unsigned most_blocks_ = 1;
  std::shared_ptr<std::byte> staging_{};  ///< of read() and write()
  std::unique_ptr<Event> order_{};        ///< of follow()
};

}  // namespace rondo::train::device
