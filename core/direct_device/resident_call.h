// ResidentCall: a collective as one co-resident kernel, and which windows it touches.
//
// All ranks must answer alike without asking each other. So windows are used only where NCCL, too, asks
// for equal offsets on all ranks. In an in-place call the other buffer rightly lies at another offset
// on each rank, and a rank cannot tell where a root's buffers are.
#pragma once

#include <cstdint>

#include "core/direct_device/windows.h"
#include "core/resident/executor.h"
#include "core/stream/request.h"

namespace rondo::direct_device {

/// Where the buffers of a call lie that peers touch in it; none where one of them is in no window, or
/// where the call has a factor (PreMulSum), which each rank multiplies its own input by.
WindowPlaces places_of(const stream::Request& request, resident::WindowUse use,
                       const Windows& windows, int rank, int ranks);

struct ResidentCall {
  stream::Request request{};
  resident::CallBuffers buffers{};

  /// `places`: as places_of() says.
  ResidentCall(const stream::Request& of, const WindowPlaces& places, const Windows& windows);
  /// Whether it reads or writes windows of other ranks.
  bool is_in_windows() const { return buffers.in_windows(); }
  /// About how many entries of a driver's queue it takes.
  static constexpr std::size_t entries = 1;
  /// Puts it into its stream. `number`: the call's, to be written when it begins and completes; 0: it
  /// is captured. Throws CudaError.
  void put(const StagingHeap& heap, resident::Executor& executor, std::uint64_t number) const;

 private:
  device::Marks marks(const StagingHeap& heap, std::uint64_t number) const;
};

}  // namespace rondo::direct_device
