#include "core/cuda/resident_kernels.h"

#include <array>

#include "core/cuda/per_context.h"
#include "kernels/cuda/image.h"

namespace rondo::cuda {
namespace {

/// The driver copies the arguments.
template <class Call>
void launch_blocks(Function function, const Call& call, unsigned blocks, Stream stream) {
  std::array<void*, 1> arguments{const_cast<Call*>(&call)};
  check(driver().launch_kernel(function, blocks, 1, 1, device::resident_threads, 1, 1, 0, stream,
                               arguments.data(), nullptr),
        "cuLaunchKernel");
}

}  // namespace

const ResidentKernels& ResidentKernels::of(Context context) {
  return PerContext<ResidentKernels>::of(context,
                                         [] { return std::make_unique<const ResidentKernels>(); });
}

void ResidentKernels::forget(Context context) { PerContext<ResidentKernels>::forget(context); }

ResidentKernels::ResidentKernels() {
  const Module module = load_module(resident_image());
  small_ = find_kernel(module, device::small_kernel, device::resident_threads);
  program_ = find_kernel(module, device::program_kernel, device::resident_threads);
}

void ResidentKernels::launch(const device::SmallCall& call, Stream stream) const {
  launch_blocks(small_.function, call, call.stripes, stream);
}

void ResidentKernels::launch(const device::ProgramCall& call, unsigned stripes,
                             Stream stream) const {
  launch_blocks(program_.function, call, stripes, stream);
}

}  // namespace rondo::cuda
