// A call of rondo's C++ API by its description, on raw buffers. `comm` is a Communicator, or a
// StreamCommunicator with a stream as the last argument.
#pragma once

#include <span>
#include <stdexcept>

#include "core/control/call.h"
#include "rondo/rondo.h"
#include "tests/support/oracle.h"

namespace rondo::test {

/// Makes the call. In send_recv the root sends to the next rank.
template <class Comm, class... Stream>
void make_call(Comm& comm, const Call& call, const void* in, void* out, Stream... stream) {
  const Reduction how{call.op, call.accumulate, call.reproducible};
  switch (call.collective) {
    case Collective::all_reduce:
      return comm.all_reduce(in, out, call.count, call.type, how, stream...);
    case Collective::reduce_scatter:
      return comm.reduce_scatter(in, out, call.count, call.type, how, stream...);
    case Collective::all_gather:
      return comm.all_gather(in, out, call.count, call.type, stream...);
    case Collective::broadcast:
      return comm.broadcast(in, out, call.count, call.type, call.root, stream...);
    case Collective::reduce:
      return comm.reduce(in, out, call.count, call.type, how, call.root, stream...);
    case Collective::scan:
      if constexpr (sizeof...(Stream) == 0) return comm.scan(in, out, call.count, call.type, how);
      throw std::runtime_error("no scan in a stream");
    case Collective::exclusive_scan:
      if constexpr (sizeof...(Stream) == 0)
        return comm.exclusive_scan(in, out, call.count, call.type, how);
      throw std::runtime_error("no scan in a stream");
    case Collective::all_to_all:
      return comm.all_to_all(in, out, call.count, call.type, stream...);
    case Collective::scatter:
      return comm.scatter(in, out, call.count, call.type, call.root, stream...);
    case Collective::gather:
      return comm.gather(in, out, call.count, call.type, call.root, stream...);
    case Collective::barrier:
      if constexpr (sizeof...(Stream) == 0) return comm.barrier();
      throw std::runtime_error("no barrier in a stream");
    case Collective::send_recv:
      const int next = (call.root + 1) % comm.size();
      if (comm.rank() == call.root) return comm.send(in, call.count, call.type, next, stream...);
      if (comm.rank() == next) return comm.recv(out, call.count, call.type, call.root, stream...);
  }
}

/// The same with blocks that differ in size, if the case has such.
template <class Comm, class... Stream>
void make_call(Comm& comm, const Case& given, const void* in, void* out, Stream... stream) {
  const Call& call = given.call;
  if (given.between) {
    const ExchangeSide sent = sent_by(given, comm.rank(), comm.size());
    const ExchangeSide received = received_by(given, comm.rank(), comm.size());
    if (!given.displaced)
      return comm.all_to_all_v(in, {sent.counts}, out, {received.counts}, call.type, stream...);
    return comm.all_to_all_v(in, {sent.counts, sent.displacements}, out,
                             {received.counts, received.displacements}, call.type, stream...);
  }
  if (given.counts.empty()) return make_call(comm, call, in, out, stream...);
  switch (call.collective) {
    case Collective::reduce_scatter:
      return comm.reduce_scatter_v(in, out, given.counts, call.type, call.op, stream...);
    case Collective::all_gather:
      return comm.all_gather_v(in, out, given.counts, call.type, stream...);
    case Collective::scatter:
      return comm.scatter_v(in, out, given.counts, call.type, call.root, stream...);
    case Collective::gather:
      return comm.gather_v(in, out, given.counts, call.type, call.root, stream...);
    default:
      throw std::runtime_error("no call with counts");
  }
}

/// This rank's part of calls in host memory, one after the other, each checked.
inline void make_calls(Communicator& comm, std::span<const Trial> trials) {
  for (const Trial& trial : trials) {
    trial.run(comm.rank(),
              [&](const void* in, void* out) { make_call(comm, trial.given(), in, out); });
  }
}

}  // namespace rondo::test
