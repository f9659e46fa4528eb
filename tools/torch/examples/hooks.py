"""DDP hooks that compress gradients before they are sent.

    torchrun --nproc-per-node 4 tools/torch/examples/hooks.py --backend rondo

top_k sends the largest tenth of a bucket's elements and their places. The rest is added to the next
step's gradients (error feedback). rondo.hooks.quantized sends all, with 8 bits a value, and keeps
what rounding leaves out likewise. PowerSGD, which is part of torch, sends two thin matrices whose product is
close to the gradient.
"""

import rondo.hooks
import torch
import torch.distributed as distributed
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import common


class TopK:
    """The state of the hook below."""

    def __init__(self, share):
        self.share = share    # of the elements: how many are sent
        self.left_out = {}    # for each bucket: values that earlier steps did not send

    def add_left_out(self, bucket):
        gradient, earlier = bucket.buffer(), self.left_out.get(bucket.index())
        # DDP makes its buckets anew after the first step.
        return gradient + earlier if earlier is not None and earlier.shape == gradient.shape else gradient

    def keep_left_out(self, bucket, gradient, sent):
        self.left_out[bucket.index()] = gradient.index_fill(0, sent, 0)


def top_k_hook(state, bucket):
    ranks = distributed.get_world_size()
    gradient = state.add_left_out(bucket)
    places = gradient.abs().topk(max(1, int(state.share * gradient.numel()))).indices
    values = gradient[places]
    state.keep_left_out(bucket, gradient, places)
    all_places, all_values = places.new_empty(ranks * len(places)), values.new_empty(ranks * len(values))
    calls = [distributed.all_gather_into_tensor(all_places, places, async_op=True),
             distributed.all_gather_into_tensor(all_values, values, async_op=True)]

    def average(_):
        return torch.zeros_like(gradient).index_add_(0, all_places, all_values / ranks)

    return torch.futures.collect_all([call.get_future() for call in calls]).then(average)


def train(steps, state, hook):
    model = DistributedDataParallel(common.network())
    model.register_comm_hook(state, hook)
    return common.train_on_shares(model, torch.optim.SGD(model.parameters(), lr=common.RATE), steps)


def train_top_k(steps, share=0.1):
    return train(steps, TopK(share), top_k_hook)


def train_quantized(steps):
    return train(steps, rondo.hooks.Quantized(), rondo.hooks.quantized)


def train_power_sgd(steps):
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    return train(steps, state, powerSGD_hook.powerSGD_hook)


def main():
    options = common.start(__doc__)
    alone = common.train_alone(options.steps)
    common.report(train_top_k(options.steps, share=1.0), alone)   # all is sent, so the losses are the same
    common.report(train_top_k(options.steps), alone, tolerance=0.1)
    common.report(train_quantized(options.steps), alone, tolerance=0.001)
    common.report(train_power_sgd(options.steps), alone, tolerance=0.1)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
