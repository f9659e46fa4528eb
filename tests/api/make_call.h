// A call of the public API by its description, on raw buffers.
#pragma once

#include <stdexcept>

#include "core/control/call.h"
#include "rondo/rondo.h"

namespace rondo::test {

/// Makes the call. In send_recv the root sends to the next rank.
inline void make_call(Communicator& comm, const Call& call, const void* in, void* out) {
  const Reduction how{call.op, call.accumulate, call.reproducible};
  switch (call.collective) {
    case Collective::all_reduce:
      return comm.all_reduce(in, out, call.count, call.type, how);
    case Collective::reduce_scatter:
      return comm.reduce_scatter(in, out, call.count, call.type, how);
    case Collective::all_gather:
      return comm.all_gather(in, out, call.count, call.type);
    case Collective::broadcast:
      return comm.broadcast(in, out, call.count, call.type, call.root);
    case Collective::reduce:
      return comm.reduce(in, out, call.count, call.type, how, call.root);
    case Collective::all_to_all:
      return comm.all_to_all(in, out, call.count, call.type);
    case Collective::scatter:
      return comm.scatter(in, out, call.count, call.type, call.root);
    case Collective::gather:
      return comm.gather(in, out, call.count, call.type, call.root);
    case Collective::barrier:
      return comm.barrier();
    case Collective::send_recv:
      const int next = (call.root + 1) % comm.size();
      if (comm.rank() == call.root) return comm.send(in, call.count, call.type, next);
      if (comm.rank() == next) return comm.recv(out, call.count, call.type, call.root);
  }
}

/// Makes the call with blocks of these counts.
inline void make_call(Communicator& comm, const Call& call, std::span<const std::size_t> counts,
                      const void* in, void* out) {
  switch (call.collective) {
    case Collective::reduce_scatter:
      return comm.reduce_scatter_v(in, out, counts, call.type, call.op);
    case Collective::all_gather:
      return comm.all_gather_v(in, out, counts, call.type);
    case Collective::scatter:
      return comm.scatter_v(in, out, counts, call.type, call.root);
    case Collective::gather:
      return comm.gather_v(in, out, counts, call.type, call.root);
    default:
      throw std::runtime_error("no call with counts");
  }
}

}  // namespace rondo::test
