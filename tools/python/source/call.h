// Call: one call of rondo as data, so that it can be stored before it is made.
#pragma once

#include <cstddef>
#include <vector>

#include "rondo/rondo.h"

namespace rondo_python {

struct Call {
  rondo::Collective collective{};
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;  ///< as for rondo's call of that name
  rondo::DataType type{};
  rondo::Reduction how{};
  int root = 0;        ///< of send_recv: the peer
  bool sends = false;  ///< of send_recv: whether it sends or receives
  /// The sizes of blocks that differ in size; otherwise empty. For all_to_all those that this rank
  /// sends.
  std::vector<std::size_t> counts{};
  std::vector<std::size_t> received{};  ///< for all_to_all: those that it receives
};

/// Begins the call; returns at once.
rondo::Work begin(rondo::Communicator& communicator, const Call& call);
/// Makes the call. It is complete on return, unless a rondo::Group is open.
void make(rondo::Communicator& communicator, const Call& call);

}  // namespace rondo_python
