// Memory of cuMemCreate, as PyTorch's expandable segments are.
#pragma once

#include "tests/nccl/device.h"

namespace rondo::test {

/// Segments of the current context's device, mapped one after the other into a larger range of
/// reserved addresses, which goes on after the last.
class Segments {
 public:
  /// `handle_types`: by which other processes may have them.
  explicit Segments(std::size_t segments, int handle_types = cuda::file_descriptor) {
    cuda::AllocationProperties properties;
    properties.handle_types = handle_types;
    expect_cuda(cuCtxGetDevice(&properties.location.device));
    expect_cuda(cuMemGetAllocationGranularity(&each_, &properties, 0));
    reserved_ = (segments + 5) * each_;
    mapped_ = segments * each_;
    expect_cuda(cuMemAddressReserve(&begin_, reserved_, 0, 0, 0));
    for (std::size_t at = 0; at < mapped_; at += each_) {
      cuda::Allocation made = 0;
      expect_cuda(cuMemCreate(&made, each_, &properties, 0));
      expect_cuda(cuMemMap(begin_ + at, each_, 0, made, 0));
      expect_cuda(cuMemRelease(made));
    }
    const cuda::MemoryAccess access{.location = properties.location};
    expect_cuda(cuMemSetAccess(begin_, mapped_, &access, 1));
  }
  ~Segments() {
    cuMemUnmap(begin_, mapped_);
    cuMemAddressFree(begin_, reserved_);
  }
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  int* data() const { return reinterpret_cast<int*>(begin_); }
  std::size_t bytes() const { return mapped_; }
  std::size_t bytes_of_each() const { return each_; }
  /// Where segment `number` begins.
  int* segment(std::size_t number) const { return data() + number * each_ / sizeof(int); }

 private:
  cuda::DevicePointer begin_ = 0;
  std::size_t each_ = 0;
  std::size_t reserved_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace rondo::test
