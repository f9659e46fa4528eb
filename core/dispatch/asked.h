// Asked: a call that an API asks of one rank, in the order of a CUDA stream.
#pragma once

#include <span>
#include <vector>

#include "core/dispatch/rank_calls.h"
#include "core/stream/request.h"

namespace rondo::dispatch {

/// Its arguments were checked, and its communicator can be used.
struct Asked {
  RankCalls* calls = nullptr;  ///< of the rank
  stream::Request request{};
  /// It keeps its stream's order whatever its buffers are. Otherwise a call on the host's memory
  /// may leave it.
  bool in_order = false;
};

/// A thread's group, in the order of its calls.
using AskedList = std::vector<const Asked*>;
using AskedSpan = std::span<const Asked* const>;

}  // namespace rondo::dispatch
