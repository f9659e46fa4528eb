// Where calls read and write, and which calls must therefore follow others.
#pragma once

#include "core/base/memory_range.h"
#include "core/stream/request.h"

namespace rondo::stream {

/// The size of the part of the call's buffer that the rank holds. A message has one buffer of both.
std::size_t bytes_of(const Request& request, Buffer buffer, int rank, int ranks);

/// Whether all that the rank reads and writes in a collective lies on devices. A rank without
/// elements does as its pointers say, as the others have elements there.
bool is_on_devices(const Request& request, int rank, int ranks);

/// What the collectives of a batch write, call by call.
class Written {
 public:
  Written(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  /// Adds the next call. True when it reads or writes what one before it writes. Then it has to
  /// wait for all of those, and later calls for none of them any more.
  bool add(const Request& request);

 private:
  bool meets(const Request& request) const;

  int rank_;
  int ranks_;
  WrittenMemory memory_{{}};  ///< since the last call that waits; so no range meets another one
};

}  // namespace rondo::stream
