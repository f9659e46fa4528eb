// A collective on memory of which one process reaches everything: places to combine and copy. They
// do what each rank's call promises, without messages.
//
//   all_reduce      out[r] = in[0] + in[1] + ...      for every r, each input read once
//   all_gather      out[r][b] = in[b]                 block b of every output
//   all_to_all      out[d][s] = in[s][d]              and so on
#pragma once

#include <span>
#include <vector>

#include "core/cuda/kernels.h"
#include "core/plan/ragged.h"

namespace rondo::stream {

/// One rank's buffers in a call.
struct Buffers {
  cuda::DevicePointer input = 0;
  cuda::DevicePointer output = 0;
};

/// Combined into all its targets from all its sources, element by element.
struct Place {
  std::vector<cuda::DevicePointer> sources{};
  std::vector<cuda::DevicePointer> targets{};
  int rank = 0;  ///< whose device does it, where devices do not share it
};

/// Places of one shape, which overlap in nothing but a target that is a source of its own place.
struct Places {
  cuda::Combination how{};
  std::size_t count = 0;  ///< elements of each source and target
  std::vector<Place> list{};
  std::vector<device::Scalar> scales{};  ///< by source; empty: none
  bool shared = false;  ///< each device does a part of the elements of the one place there is
};

/// The call on the buffers of all ranks, by rank. `scales`: of the ranks' inputs, or empty. Where
/// blocks differ in size, each block with elements makes places of its own shape.
std::vector<Places> places_of(const Call& call, Counts counts, std::span<const Buffers> ranks,
                              const std::vector<device::Scalar>& scales);

/// What device `device` of `devices` does of them. device_of: by rank.
cuda::Work work_of(const Places& places, std::span<const std::size_t> device_of, std::size_t device,
                   std::size_t devices);

}  // namespace rondo::stream
