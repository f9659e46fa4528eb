// The kernels of kernels/device/calls.h as the fake driver runs them: the same source, with host
// threads for those of a block.
#pragma once

#include "tests/fake_driver/state.h"

namespace rondo::test {

/// The number of the kernel of this name; -1: there is none.
int resident_kernel(const char* name);
/// What a launch of `blocks` blocks in a context does; nothing where its memory is out of reach. It
/// begins when the device has room for its blocks beside those of all such launches.
Work resident_work(int kernel, const void* argument, unsigned blocks, cuda::Context context);
/// Ends what such kernels of a broken context wait for: no kernel of it goes on.
void end_resident_kernels(cuda::Context context);
/// Blocks of such a kernel that a processor of a device holds.
inline constexpr int resident_blocks = 20;

}  // namespace rondo::test
