// Puts a call of core/resident into a stream.
#pragma once

#include "core/direct_device/signals.h"
#include "core/resident/executor.h"
#include "core/stream/request.h"

namespace rondo::direct_device {

/// Puts a call that `executor` serves into its stream. `number`: as Running's. Throws CudaError.
void put_resident(const StagingHeap& heap, resident::Executor& executor,
                  const stream::Request& request, std::uint64_t number);

}  // namespace rondo::direct_device
