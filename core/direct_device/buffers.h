// Which buffers of a collective peers read in place, because all ranks registered them as windows,
// and where these buffers are.
//
// All ranks must answer alike without asking each other. So it is done only where NCCL, too, asks
// for equal offsets:
//
//   reduce_scatter, all_to_all  the input
//   all_gather                  the output
//   all_reduce                  both
//
// In an in-place call, the other buffer rightly lies at another offset on each rank. These calls
// stay staged:
// - broadcast, reduce, gather, scatter: a rank cannot tell where the root's buffers are, and NCCL
//   allows any.
// - calls with a factor (PreMulSum): each rank multiplies its input on the way into its half.
#pragma once

#include <vector>

#include "core/direct_device/windows.h"
#include "core/schedule/layout.h"
#include "core/stream/buffers.h"

namespace rondo::direct_device {

/// Addresses by rank; empty: peers do not read it.
struct Buffers {
  std::vector<cuda::DevicePointer> inputs{};
  std::vector<cuda::DevicePointer> outputs{};
};

/// Whether the rank's two buffers have bytes in common.
bool overlap(const stream::Request& request, int rank, int ranks);
WindowPlaces places_of(const stream::Request& request, const Windows& windows, int rank, int ranks);

}  // namespace rondo::direct_device
