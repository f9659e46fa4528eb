// What a call puts into streams, slice by slice.
#pragma once

#include "core/stream/request.h"

namespace rondo::stream {

/// Whether there is a slot for the kind's next slice, and what it reads has been written.
bool may_enter_next(const Batch& batch, const Kind& kind);
/// Puts into `stream` the work that brings the kind's next slice into its slot. Throws CudaError.
void enter_next(Batch& batch, Kind& kind, cuda::Stream stream);
/// The same for the wait until the next of those slices is done, and for bringing it out of the
/// slot.
void leave_next(Batch& batch, Kind& kind, cuda::Stream stream);
/// The wait alone: what is in the slot is worth nothing.
void await_next(Batch& batch, Kind& kind, cuda::Stream stream);

/// How many entries the next slice takes in a driver's queue, on its way in and out.
std::size_t entries_of_next(const Batch& batch, const Kind& kind);

/// The same for what the worker has not answered yet, of a batch that is whole in its streams; 0:
/// all of it is done, or about to be.
std::size_t entries_left(const Batch& batch);

}  // namespace rondo::stream
