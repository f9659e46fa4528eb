// What the sweep's buffers hold: device memory of float32, and each element checked on the host.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/common/program.h"
#include "core/cuda/handles.h"

namespace rondo::gpu_test {

/// Memory of the current context's device, not cleared; freed when this goes.
class DeviceFloats {
 public:
  explicit DeviceFloats(std::size_t count);
  ~DeviceFloats();
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;

  float* data() const { return reinterpret_cast<float*>(address_); }
  cuda::DevicePointer address() const { return address_; }
  std::size_t count() const { return count_; }

 private:
  std::size_t count_;
  cuda::DevicePointer address_ = 0;
};

/// The inputs of `ranks` ranks and their sum: numbers that differ by rank and place, and whose sums
/// float32 has exactly, whatever their order. Many threads may read it.
class Values {
 public:
  explicit Values(int ranks);

  /// A rank's input, whole.
  void fill(const DeviceFloats& input, int rank) const;

  /// Elements of an output's block of `count`, from element `first` on, that are not `piece`.
  std::size_t count_wrong(const bench::Piece& piece, const DeviceFloats& output, std::size_t first,
                          std::size_t count) const;

 private:
  const float* from(std::size_t which, std::size_t element) const;

  std::vector<std::vector<float>> patterns_{};  ///< by rank, then the sum
};

/// Writes what no call writes into the first `count` elements.
void poison(const DeviceFloats& output, std::size_t count);

}  // namespace rondo::gpu_test
