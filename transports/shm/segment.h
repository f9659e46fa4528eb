// A ring's memory as a sealed memfd: no name, gone with its last user.
#pragma once

#include "core/base/unique_fd.h"
#include "core/transport/ring_channel.h"

namespace rondo::shm {

/// New memory, all pages present, mapped into the ring; what is to be passed to the writer.
/// Throws Error{out_of_memory} that says how much was needed. Never SIGBUS later.
struct Segment {
  UniqueFd memory{};
  SharedRing ring{};
};
Segment make_segment(RingShape shape, int rank, int peer);

/// Maps what the reader passed. Throws Error{out_of_memory} where it cannot be mapped, or is
/// shorter than the shape.
SharedRing map_segment(const UniqueFd& memory, RingShape shape, int rank, int peer);

/// The error both ends throw when the reader had no memory for a ring of `bytes`.
Error no_memory(std::size_t bytes, int rank, int peer);

}  // namespace rondo::shm
