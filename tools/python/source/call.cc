#include "tools/python/source/call.h"

namespace rondo_python {

rondo::Work begin(rondo::Communicator& world, const Call& call) {
  const auto& [collective, input, output, count, type, op, root, sends] = call;
  switch (collective) {
    case rondo::Collective::all_reduce:
      return world.all_reduce_async(input, output, count, type, op);
    case rondo::Collective::reduce_scatter:
      return world.reduce_scatter_async(input, output, count, type, op);
    case rondo::Collective::all_gather:
      return world.all_gather_async(input, output, count, type);
    case rondo::Collective::broadcast:
      return world.broadcast_async(input, output, count, type, root);
    case rondo::Collective::reduce:
      return world.reduce_async(input, output, count, type, op, root);
    case rondo::Collective::all_to_all:
      return world.all_to_all_async(input, output, count, type);
    case rondo::Collective::scatter:
      return world.scatter_async(input, output, count, type, root);
    case rondo::Collective::gather:
      return world.gather_async(input, output, count, type, root);
    case rondo::Collective::barrier:
      return world.barrier_async();
    case rondo::Collective::send_recv:
      return sends ? world.send_async(input, count, type, root)
                   : world.recv_async(output, count, type, root);
  }
  return {};
}

void make(rondo::Communicator& world, const Call& call) {
  const auto& [collective, input, output, count, type, op, root, sends] = call;
  switch (collective) {
    case rondo::Collective::all_reduce:
      return world.all_reduce(input, output, count, type, op);
    case rondo::Collective::reduce_scatter:
      return world.reduce_scatter(input, output, count, type, op);
    case rondo::Collective::all_gather:
      return world.all_gather(input, output, count, type);
    case rondo::Collective::broadcast:
      return world.broadcast(input, output, count, type, root);
    case rondo::Collective::reduce:
      return world.reduce(input, output, count, type, op, root);
    case rondo::Collective::all_to_all:
      return world.all_to_all(input, output, count, type);
    case rondo::Collective::scatter:
      return world.scatter(input, output, count, type, root);
    case rondo::Collective::gather:
      return world.gather(input, output, count, type, root);
    case rondo::Collective::barrier:
      return world.barrier();
    case rondo::Collective::send_recv:
      return sends ? world.send(input, count, type, root) : world.recv(output, count, type, root);
  }
}

}  // namespace rondo_python
