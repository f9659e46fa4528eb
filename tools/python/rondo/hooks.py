"""A hook for torch's DistributedDataParallel, on the CPU: gradients are sent with 8 bits a value.

    model = DistributedDataParallel(network)
    model.register_comm_hook(rondo.hooks.Quantized(), rondo.hooks.quantized)

That is about a quarter of the bytes. What rounding leaves out is added to the next step's gradients
(error feedback). The process group may have any backend. Worth it where bytes decide, as between hosts.
"""

from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as distributed

import rondo


class Quantized:
    """The state of quantized(). All ranks of the group make it together: it connects them once more.

    world: the rondo.Communicator whose traffic() counts what the hook sends.
    """

    def __init__(self, group=None):
        rank, size = distributed.get_rank(group), distributed.get_world_size(group)
        name = [rondo.make_unique_id() if rank == 0 else None]
        distributed.broadcast_object_list(name, distributed.get_global_rank(group, 0) if group else 0, group)
        self.world = rondo.from_unique_id(name[0], rank, size)
        self.thread = ThreadPoolExecutor(1)   # alone makes the calls, while the backward pass goes on
        self.left_out = {}   # for each bucket: its parameters, and what was left out of their gradients

    def average(self, bucket):
        gradient, parameters = bucket.buffer(), [one.data_ptr() for one in bucket.parameters()]
        before, left_out = self.left_out.get(bucket.index(), (None, None))
        if before != parameters:   # DDP makes its buckets anew after the first step
            left_out = torch.zeros_like(gradient)
            self.left_out[bucket.index()] = parameters, left_out
        return self.world.all_reduce_quantized(gradient, left_out).div_(self.world.size)


def quantized(state, bucket):
    """The hook, for float32. Errors come from the backward pass."""
    begun = torch.futures.Future()
    averaged = begun.then(lambda _: state.average(bucket))   # runs on the state's thread
    state.thread.submit(begun.set_result, None)
    return averaged
