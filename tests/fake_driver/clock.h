// Notes what is put into streams, and when their threads' clocks have come to it, for a prediction of
// its time (timeline.h). It is off until fake_note_times(), and changes nothing that streams do.
#pragma once

#include <span>

#include "core/cuda/api.h"
#include "kernels/device/pieces.h"

namespace rondo::test {

/// This thread has begun a driver call.
void spend_call(bool puts);

// What is put into a stream, by one thread at a time.
void note_copy(cuda::Stream stream, cuda::DevicePointer to, cuda::DevicePointer from,
               std::size_t bytes);
/// `pieces`: with the program's own addresses.
void note_kernel(cuda::Stream stream, const device::Pieces& pieces, std::size_t bytes,
                 std::size_t count);
void note_operations(cuda::Stream stream, std::span<const cuda::MemoryOperation> operations);
void note_record(cuda::Stream stream, cuda::Event event);
void note_wait(cuda::Stream stream, cuda::Event event);
/// Something that the model does not know.
void note_unknown(const char* what);

}  // namespace rondo::test
