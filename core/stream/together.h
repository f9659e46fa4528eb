// Calls of several communicators that one thread puts into streams at once, as a group's.
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

/// Puts all of them into their streams. Memory first, for all, as taking some may wait for a
/// device, and a device for a call that this very thread has yet to make. Then slice by slice in
/// turn: where a driver's queue is full, what it waits for is in the others' already, whatever
/// their room. So communicators may even share a stream. Throws nothing of the calls': see
/// `failure`.
void put_together(std::span<Together> all);

}  // namespace rondo::stream
