// Whether buffers of a call are memory at all, and of this communicator's device where they are of
// one. Else whoever copies them dies of it, on the host as on a device.
#pragma once

#include <string_view>

#include "core/control/call.h"
#include "core/cuda/contexts.h"
#include "core/plan/ragged.h"

namespace rondo::stream {

/// The rank whose buffers they are.
struct Home {
  int rank = 0;
  int ranks = 1;
  cuda::Context context = nullptr;  ///< of its calls; null: not known yet
  int device = 0;                   ///< the context's
};

/// A buffer as a program gave it.
struct UserMemory {
  std::string_view name;  ///< for words
  const void* begin = nullptr;
  std::size_t bytes = 0;  ///< 0: nobody reads or writes it
};

/// Where a buffer begins.
struct Location {
  bool on_device = false;
  int device = -1;  ///< its number, as far as the driver says
};
inline Location location_of(const cuda::MemoryInfo& memory) {
  return {memory.kind == cuda::MemoryKind::device, memory.device};
}
/// Those of a call's buffers; of one that it does not have: the host.
struct Locations {
  Location input{};
  Location output{};
};

/// Throws Error{invalid_argument} for memory that is neither the host's, as far as this process can
/// read it, nor a device's, at its first byte and its last, the same at both (what else lies
/// between or behind is not looked at); and for memory of a device that the rank's own does not
/// reach. Managed memory is everybody's. Null is not looked at. Asks the driver a few times, or the
/// system (is_readable()). Thread-safe.
Location check_memory(const UserMemory& memory, const Call& call, const Home& home);

/// The same for what the rank reads and writes in a call; a message has one of both.
Locations check_memory(const Call& call, Counts counts, const void* input, const void* output,
                       const Home& home);

}  // namespace rondo::stream
