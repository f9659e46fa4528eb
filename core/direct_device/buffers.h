// Buffers: which of a collective's buffers peers read where they lie, in windows that all ranks
// have registered, and where that is.
//
// Ranks must find the same without a word to each other. So it is done for those collectives that
// NCCL, too, asks for equal offsets in, by the buffer that it asks it for: the input of
// reduce_scatter and all_to_all, the output of all_gather, both of all_reduce. In place the others
// of them lie elsewhere on every rank, rightly. Of a broadcast, reduce, gather or scatter a rank
// cannot tell by its own buffers where the root's are, and NCCL takes any: these are staged. So are
// calls with a factor (PreMulSum): it is multiplied on the way into the half, by each rank's own.
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
