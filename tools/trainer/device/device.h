// A CUDA device as one rank uses it: a context, two streams, memory, and the trainer's kernels.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "tools/trainer/device/driver.h"
#include "tools/trainer/device/kernels.h"
#include "tools/trainer/memory/supply.h"

namespace rondo::train::device {

/// Page-locked host memory, which devices copy to and from directly while streams go on. Not
/// movable; hold it in a unique_ptr.
class Pinned {
 public:
  /// Zeroed.
  Pinned(const Driver& driver, std::size_t bytes);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  const Driver& driver_;
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

/// An event is complete when the stream has done the work that was in it when the event was
/// recorded.
class Event {
 public:
  explicit Event(const Driver& driver);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent_st* get() const { return event_; }
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

  /// `items`: elements, or rows that `row_lanes` lanes share. Returns at once; nothing for 0 items.
  struct Work {
    std::size_t items = 0;
    std::size_t row_lanes = 1;
  };
  void launch(Kernel kernel, const Work& work, const Call& call) const;

  /// The device's free memory, which all ranks on it share.
  CommonMemory common_memory() const;
  /// Zeroed. It is freed with the last reference. The driver first completes the work under way.
  std::shared_ptr<void> take(std::size_t bytes) const;
  void zero(void* memory, std::size_t bytes) const;
  /// Copies between device and page-locked memory, in a stream.
  void copy(const void* from, void* into, std::size_t bytes, CUstream_st* stream) const;
  /// Work that is put into `later` from now on waits for the work in `earlier`.
  void follow(CUstream_st* later, CUstream_st* earlier) const;
  void record(const Event& event, CUstream_st* stream) const;
  void finish(CUstream_st* stream) const;
  /// They copy between device memory and the process's own, after the work in compute(). The copy
  /// is done when they return.
  void read(const void* from, void* into, std::size_t bytes) const;
  void write(const void* from, void* into, std::size_t bytes) const;

 private:
  static int place_on_machine(int rank);
  void open(int rank);
  void load();

  Driver driver_;
  int number_ = 0;
  CUctx_st* context_ = nullptr;
  std::array<CUstream_st*, 2> streams_{};
  std::array<CUfunc_st*, kernel_names.size()> functions_{};
  unsigned most_blocks_ = 1;
  std::unique_ptr<Pinned> staging_{};  ///< of read() and write()
  std::unique_ptr<Event> order_{};     ///< of follow()
};

/// A kernel's arguments.
template <class T>
Buffer buffer_of(std::span<T> values) {
  return {address_of(values.data()), values.size_bytes()};
}
Call make_call(std::initializer_list<Buffer> buffers,
               std::initializer_list<std::uint64_t> sizes = {},
               std::span<const float> numbers = {});

}  // namespace rondo::train::device
