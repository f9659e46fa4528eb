// Memory of cuMemCreate: segments that a process maps one after the other, at addresses that it
// reserved before. PyTorch's expandable segments are such memory, and so is the memory of
// ncclMemAlloc(), here and in NCCL. CUDA IPC cannot share it. Processes share each segment as a
// file descriptor.
//
// All functions throw CudaError.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/cuda/driver.h"

namespace rondo::cuda {

/// Device memory that the driver knows as one: an allocation, or a segment.
struct Range {
  DevicePointer begin = 0;
  std::size_t bytes = 0;
};
/// The range that `address` is in.
Range range_of(DevicePointer address);

/// The ranges that `bytes` bytes from `address` on are in, in order. Empty where any of it is other
/// memory, or none.
std::vector<Range> segments_of(DevicePointer address, std::size_t bytes);

/// A file descriptor by which other processes map this segment. Throws also for memory that was
/// made without such a handle (CUmemAllocationProp's requestedHandleTypes).
UniqueFd share_segment(const Range& segment);

/// The current context's device may read and write whole segments from here on.
void open_segments(DevicePointer begin, std::size_t bytes);
/// Whether `device` may read and write all of these; false for none, as segments_of() finds in
/// other memory.
bool are_open_to(const std::vector<Range>& segments, int device);

/// Why `device` has no memory of cuMemCreate that processes can share; empty: it has.
std::string why_no_segments(int device);

/// Segments mapped one after the other for the current context's device. They are those of another
/// process, whose owner may let go of them first, or a new one of this process.
class MappedSegments {
 public:
  /// `bytes`: of each; `next`: gives their descriptors in this order.
  MappedSegments(const std::vector<std::size_t>& bytes, const std::function<UniqueFd()>& next);
  /// A new segment, which other processes can have, of `bytes` rounded up to whole units of the
  /// driver (2 MiB, say). Devices of this process that reach its device's memory may read and write
  /// it, too, as they may memory of cuMemAlloc.
  static MappedSegments make(std::size_t bytes);
  MappedSegments(MappedSegments&& other) noexcept;
  MappedSegments& operator=(MappedSegments&&) = delete;
  /// All that needed them in streams must be complete. A failure is not reported: see free().
  ~MappedSegments();

  DevicePointer address() const { return begin_; }
  std::size_t bytes() const { return mapped_; }
  /// Like the destructor, but what was not given back is still there, for another try.
  void free();
  /// Leaves the mapping as it is: nothing can be asked of the driver any more.
  void abandon() { reserved_ = 0; }

 private:
  explicit MappedSegments(std::size_t bytes);
  void map_next(Allocation claim, std::size_t bytes);

  DevicePointer begin_ = 0;
  std::size_t reserved_ = 0;  ///< bytes; 0: there is nothing to give back
  std::size_t mapped_ = 0;    ///< bytes, from the begin on
};

}  // namespace rondo::cuda
