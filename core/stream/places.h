// A collective on memory of which one process reaches everything: pieces to combine and copy. They
// are the ops of all ranks (core/plan/joint.h) on the buffers of a call.
//
//   all_reduce      out[r] = in[0] + in[1] + ...      for every r, each input read once
//   all_gather      out[r][b] = in[b]                 block b of every output
//   all_to_all      out[d][s] = in[s][d]              and so on
#pragma once

#include <span>
#include <vector>

#include "core/cuda/kernels.h"
#include "core/plan/joint.h"
#include "core/stream/request.h"

namespace rondo::stream {

/// Pieces of one shape, which overlap in nothing but a target that is a source of its own piece.
struct Places {
  cuda::Work work{};
  /// By piece: whose device does it. Empty: each does a part of the elements of the one there is.
  std::vector<std::size_t> ranks{};
};

/// Adds a piece to those of its shape: its sources, then its targets.
void add_piece(std::vector<Places>& all, const cuda::Work& shape,
               std::span<const cuda::DevicePointer> pointers, std::size_t rank);

/// A call of all ranks, by rank. Blocks that differ in size make pieces of several shapes. The
/// device of a block's rank does its pieces.
std::vector<Places> places_of(const JointPlan& plan, std::span<const Request* const> calls);

/// What device `device` of `devices` does of them. device_of: by rank.
cuda::Work work_of(const Places& places, std::span<const std::size_t> device_of, std::size_t device,
                   std::size_t devices);

}  // namespace rondo::stream
