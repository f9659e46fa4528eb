// The queues that a device has for the streams of a process. A stream that waits for a peer holds up
// all streams of its queue.
#pragma once

#include <cstddef>
#include <string>

namespace rondo::direct_device {

/// What CUDA_DEVICE_MAX_CONNECTIONS says in this process; 0: nothing, so there are CUDA's 8.
int queues_asked_for();

/// What can hang on a rank that asked for so many queues, and what to do; empty: there are enough.
/// `staged_bytes`: how much of a message the staging memory takes.
std::string words_of_few_queues(int queues, int rank, int ranks, std::size_t staged_bytes);

}  // namespace rondo::direct_device
