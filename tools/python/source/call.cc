#include "tools/python/source/call.h"

#include <stdexcept>

namespace rondo_python {
namespace {

rondo::Work begin_ragged(rondo::Communicator& world, const Call& call) {
  switch (call.collective) {
    case rondo::Collective::reduce_scatter:
      return world.reduce_scatter_v_async(call.input, call.output, call.counts, call.type,
                                          call.how);
    case rondo::Collective::all_gather:
      return world.all_gather_v_async(call.input, call.output, call.counts, call.type);
    case rondo::Collective::all_to_all:
      return world.all_to_all_v_async(call.input, {call.counts}, call.output, {call.received},
                                      call.type);
    case rondo::Collective::scatter:
      return world.scatter_v_async(call.input, call.output, call.counts, call.type, call.root);
    case rondo::Collective::gather:
      return world.gather_v_async(call.input, call.output, call.counts, call.type, call.root);
    default:
      throw std::logic_error("this collective has no blocks that differ in size");
  }
}

void make_ragged(rondo::Communicator& world, const Call& call) {
  switch (call.collective) {
    case rondo::Collective::reduce_scatter:
      return world.reduce_scatter_v(call.input, call.output, call.counts, call.type, call.how);
    case rondo::Collective::all_gather:
      return world.all_gather_v(call.input, call.output, call.counts, call.type);
    case rondo::Collective::all_to_all:
      return world.all_to_all_v(call.input, {call.counts}, call.output, {call.received}, call.type);
    case rondo::Collective::scatter:
      return world.scatter_v(call.input, call.output, call.counts, call.type, call.root);
    case rondo::Collective::gather:
      return world.gather_v(call.input, call.output, call.counts, call.type, call.root);
    default:
      throw std::logic_error("this collective has no blocks that differ in size");
  }
}

}  // namespace

rondo::Work begin(rondo::Communicator& world, const Call& call) {
  if (!call.counts.empty()) return begin_ragged(world, call);
  const auto& [collective, input, output, count, type, how, root, sends, counts, received] = call;
  switch (collective) {
    case rondo::Collective::all_reduce:
      return world.all_reduce_async(input, output, count, type, how);
    case rondo::Collective::reduce_scatter:
      return world.reduce_scatter_async(input, output, count, type, how);
    case rondo::Collective::all_gather:
      return world.all_gather_async(input, output, count, type);
    case rondo::Collective::broadcast:
      return world.broadcast_async(input, output, count, type, root);
    case rondo::Collective::reduce:
      return world.reduce_async(input, output, count, type, how, root);
    case rondo::Collective::scan:
      return world.scan_async(input, output, count, type, how);
    case rondo::Collective::exclusive_scan:
      return world.exclusive_scan_async(input, output, count, type, how);
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
  if (!call.counts.empty()) return make_ragged(world, call);
  const auto& [collective, input, output, count, type, how, root, sends, counts, received] = call;
  switch (collective) {
    case rondo::Collective::all_reduce:
      return world.all_reduce(input, output, count, type, how);
    case rondo::Collective::reduce_scatter:
      return world.reduce_scatter(input, output, count, type, how);
    case rondo::Collective::all_gather:
      return world.all_gather(input, output, count, type);
    case rondo::Collective::broadcast:
      return world.broadcast(input, output, count, type, root);
    case rondo::Collective::reduce:
      return world.reduce(input, output, count, type, how, root);
    case rondo::Collective::scan:
      return world.scan(input, output, count, type, how);
    case rondo::Collective::exclusive_scan:
      return world.exclusive_scan(input, output, count, type, how);
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
