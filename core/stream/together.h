// Calls of several communicators that one thread puts into streams at once, as a group.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include "core/stream/stream_calls.h"

namespace rondo::stream {

/// What is asked of one communicator.
struct Together {
  StreamCalls* calls = nullptr;
  std::vector<Request> requests{};
  std::exception_ptr failure{};  ///< why they are not, or not whole, in their streams
};

/// Puts all of them into their streams. First it takes memory for all, as taking some may wait for
/// a device, and the device for a call that the calling thread has yet to make. Then it goes slice
/// by slice in turn. Where a driver's queue is full, what it waits for is in the others' already,
/// whatever their room. So communicators may even share a stream. Throws no failure of the calls:
/// see `failure`.
void put_together(std::span<Together> all);

}  // namespace rondo::stream
