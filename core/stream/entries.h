// What a call puts into streams, slice by slice.
#pragma once

#include "core/stream/request.h"

namespace rondo::stream {

/// Puts the way of the kind's next slice into its slot into `stream`. Throws CudaError.
void enter_next(Batch& batch, Kind& kind, cuda::Stream stream);
/// The same for the wait until the next one of those is done, and its way out of the slot.
void leave_next(Batch& batch, Kind& kind, cuda::Stream stream);
/// The wait alone: what is in the slot is worth nothing.
void await_next(Batch& batch, Kind& kind, cuda::Stream stream);

/// How many entries the next slice takes in a driver's queue, on its way in and out.
std::size_t entries_of_next(const Batch& batch, const Kind& kind);

}  // namespace rondo::stream
