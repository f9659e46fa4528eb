// rondo's kernels in a CUDA context, launched by the driver.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/cuda/driver.h"
#include "kernels/cuda/image.h"
#include "kernels/device/calls.h"
#include "kernels/device/pieces.h"

namespace rondo::cuda {

/// target[i] = (sources[0][i] (op) sources[1][i] (op) ...) / divisor, left to right, in one pass.
struct Combination {
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;  ///< avg is sum here: its division is the divisor's
  std::uint64_t divisor =
      1;  ///< integers truncate towards zero; floats are multiplied by 1/divisor
  DataType accumulate = type;  ///< or its wide_type()
};

/// Combinations of one shape, done beside each other: piece p reads each of its sources once and
/// writes what comes out to each of its targets.
struct Work {
  Combination how{};
  std::size_t count = 0;    ///< elements of each source and target
  std::size_t sources = 1;  ///< of each piece; at most max_sources
  std::size_t targets = 1;  ///< of each piece; at most max_sources
  /// For each piece its sources, then its targets. A target of 0 is left out. Aligned to their
  /// elements; 16-byte alignment of all pointers of a piece is fastest. A target may be a source of
  /// the same piece; no target may overlap anything else.
  std::vector<DevicePointer> pointers{};
  /// What multiplies source j of every piece, rounded to the type, before it is combined. Empty:
  /// nothing does.
  std::vector<device::Scalar> scales{};
};

/// A kernel, and how many blocks of it the device runs at once.
struct Kernel {
  Function function = nullptr;
  unsigned blocks = 0;  ///< at least 1
};
/// The kernel `name` in blocks of `threads` threads. It is on the device from here on: a launch
/// never waits for its code, whatever CUDA_MODULE_LOADING says. Throws CudaError.
Kernel find_kernel(Module module, const char* name, unsigned threads);

/// They combine and copy memory on the device, and wait for nothing but their stream.
class Kernels {
 public:
  static constexpr std::size_t max_sources = device::max_sources;

  /// The kernels of `context`. The first call loads them, and may have to wait for the device. They
  /// stay as long as the context, because graphs may hold them. Thread-safe. Throws
  /// Error{invalid_usage} where rondo was built without nvcc, CudaError where the driver cannot
  /// load them.
  static const Kernels& of(Context context);

  /// Loads `image` into the current context, and throws, as load_module() does.
  explicit Kernels(const DeviceImage& image);
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// These functions put work into `stream`, which is of these kernels' context. That context must
  /// be current. They return at once and may be captured into graphs. They make several launches
  /// where the pieces do not fit one. Thread-safe. They throw Error{invalid_argument} for wrong
  /// numbers or alignment, CudaError for what the driver refuses.
  void run(const Work& work, Stream stream) const;
  /// The same for one piece: all sources into one target.
  void combine(const Combination& how, DevicePointer target, std::span<const DevicePointer> sources,
               std::size_t count, Stream stream) const;

 private:
  void launch(const device::Pieces& pieces, std::size_t count, const Combination& how,
              Stream stream) const;

  std::array<Kernel, device::kernel_names.size()> kernels_{};  ///< in the order of the names
};

/// Co-resident kernels, which wait for the kernels of other ranks (kernels/device/calls.h).
class ResidentKernels {
 public:
  /// The kernels of `context`: see Kernels::of().
  static const ResidentKernels& of(Context context);

  /// Loads the image into the current context. Throws what Kernels() throws.
  ResidentKernels();
  ResidentKernels(const ResidentKernels&) = delete;
  ResidentKernels& operator=(const ResidentKernels&) = delete;

  /// Puts the call into `stream`, which is of these kernels' context. That context must be current.
  /// Returns at once and may be captured into graphs. Thread-safe. Throws CudaError.
  void launch(const device::SmallCall& call, Stream stream) const;
  void launch(const device::RankContext& call, unsigned blocks, Stream stream) const;

  /// Blocks of either kernel that the device runs at once.
  unsigned blocks_at_once() const { return std::min(small_.blocks, program_.blocks); }

 private:
  void launch_blocks(Function function, const void* call, unsigned blocks, Stream stream) const;

  Kernel small_{};
  Kernel program_{};
  bool in_own_domain_ = false;  ///< of memory synchronisation
};

}  // namespace rondo::cuda
