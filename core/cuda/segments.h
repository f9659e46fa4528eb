// Memory of cuMemCreate: segments that a process maps one behind the other, at addresses that it
// has reserved, as PyTorch's expandable segments are, and what ncclMemAlloc() gives here and in
// NCCL. CUDA IPC does not know it; processes share its segments as file descriptors.
//
// All of them throw CudaError.
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
/// The one that `address` is in.
Range range_of(DevicePointer address);

/// In order those that `bytes` bytes from `address` on are in; empty where any of it is other
/// memory, or none.
std::vector<Range> segments_of(DevicePointer address, std::size_t bytes);

/// What other processes map this segment by. Throws for memory that was made without such a handle
/// (CUmemAllocationProp's requestedHandleTypes), too.
UniqueFd share_segment(const Range& segment);

/// The current context's device may read and write whole segments from here on.
void open_segments(DevicePointer begin, std::size_t bytes);
/// Whether `device` may read and write all of these; false for none, as segments_of() finds in
/// other memory.
bool are_open_to(const std::vector<Range>& segments, int device);

/// Why `device` has no memory of cuMemCreate that processes can share; empty: it has.
std::string why_no_segments(int device);

/// Segments mapped one behind the other for the current context's device: another process's, whose
/// owner may let go of them before, or a new one of this process.
class MappedSegments {
 public:
  /// `bytes`: of each; `next`: gives their descriptors in this order.
  MappedSegments(const std::vector<std::size_t>& bytes, const std::function<UniqueFd()>& next);
  /// A new one, which other processes can have, of `bytes` and what is missing to whole units of
  /// the driver (2 MiB, say). Devices of this process that reach its device's memory may read and
  /// write it, too, as they may what comes of cuMemAlloc.
  static MappedSegments make(std::size_t bytes);
  MappedSegments(MappedSegments&& other) noexcept;
  MappedSegments& operator=(MappedSegments&&) = delete;
  /// With what needed them in streams complete. A failure stays unsaid: see free().
  ~MappedSegments();

  DevicePointer address() const { return begin_; }
  std::size_t bytes() const { return mapped_; }
  /// As the destructor, but what was not given back is still there, for another try.
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
