// Co-resident kernels, which wait for the kernels of other ranks (kernels/device/calls.h). The
// driver launches them.
#pragma once

#include <algorithm>

#include "core/cuda/modules.h"
#include "kernels/device/calls.h"

namespace rondo::cuda {

class ResidentKernels {
 public:
  /// The kernels of `context`: see Kernels::of().
  static const ResidentKernels& of(Context context);
  /// See Kernels::forget().
  static void forget(Context context);

  /// Loads the image into the current context. Throws what load_module() throws.
  ResidentKernels();
  ResidentKernels(const ResidentKernels&) = delete;
  ResidentKernels& operator=(const ResidentKernels&) = delete;

  /// Puts the call into `stream`, which is of these kernels' context. That context must be current.
  /// Returns at once and may be captured into graphs. Launches a block for each of the call's
  /// stripes. Thread-safe. Throws CudaError.
  void launch(const device::SmallCall& call, Stream stream) const;
  void launch(const device::ProgramCall& call, unsigned stripes, Stream stream) const;

  /// Blocks of either kernel that the device runs at once.
  unsigned blocks_at_once() const { return std::min(small_.blocks, program_.blocks); }

 private:
  Kernel small_{};
  Kernel program_{};
};

}  // namespace rondo::cuda
