// Is a call's stream of the communicator's context? Are its buffers memory at all? If they are on a
// device, does this communicator's device reach them? Copying a wrong one would kill the process, or
// the CUDA context.
#pragma once

#include <string_view>

#include "core/control/call.h"
#include "core/cuda/contexts.h"

namespace rondo::stream {

struct Request;

/// The rank whose buffers they are.
struct Home {
  int rank = 0;
  int ranks = 1;
  cuda::Context context = nullptr;  ///< of its calls; null: not known yet
  int device = 0;                   ///< the context's
};

/// Throws Error{invalid_usage} where the stream is of another context than the communicator's.
void check_context(cuda::Stream stream, const Call& call, cuda::Context context, int rank);

/// A buffer as a program gave it.
struct UserMemory {
  std::string_view name;  ///< for words
  const void* begin = nullptr;
  std::size_t bytes = 0;  ///< 0: the call neither reads nor writes it
};

/// Where a buffer begins.
struct Location {
  bool on_device = false;
  bool on_host = false;  ///< neither: there is no memory
  int device = -1;       ///< its number, if the driver says so
};
inline Location location_of(const cuda::MemoryInfo& memory) {
  return {memory.kind == cuda::MemoryKind::device, memory.kind == cuda::MemoryKind::host,
          memory.device};
}
/// Where a call's buffers are, also those that it neither reads nor writes.
struct Locations {
  Location input{};
  Location output{};
};

/// Checks the first and the last byte of a buffer. Both must be host memory that this process can
/// read, or both memory of a device that the rank's own device reaches. Otherwise it throws
/// Error{invalid_argument}. What lies between or after them is not checked. All devices reach
/// managed memory. Null is not checked. Asks the driver a few times, or the system (is_readable()).
/// Thread-safe.
Location check_memory(const UserMemory& memory, const Call& call, const Home& home);

/// The same for what the rank reads and writes in a call; a message has one of both.
Locations check_memory(const Request& request, const Home& home);

}  // namespace rondo::stream
