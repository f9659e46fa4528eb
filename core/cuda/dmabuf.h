// A GPU's memory as dma-bufs: files by which the kernel lets devices of other kinds, such as
// network adapters, read and write it where it lies (GPUDirect RDMA).
#pragma once

#include <string>

#include "core/base/unique_fd.h"
#include "core/cuda/segments.h"

namespace rondo::cuda {

/// Why `device` has no dma-bufs; empty: it has. Throws CudaError.
std::string why_no_dmabuf(int device);

/// A dma-buf of all of `range`, which is whole pages of the host's size: one allocation, or
/// segments with nothing between them. It keeps the memory alive. Throws CudaError.
UniqueFd share_as_dmabuf(const Range& range);

}  // namespace rondo::cuda
