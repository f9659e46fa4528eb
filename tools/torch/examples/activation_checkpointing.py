"""Activation checkpointing: results of a block's forward pass are computed again instead of kept.

    torchrun --nproc-per-node 4 tools/torch/examples/activation_checkpointing.py --backend rondo

Only the input of each block stays in memory until the backward pass. The results are the same, and
each block's forward pass runs twice in a step.
"""

import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

import common


class Recomputed(torch.nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)


def train(steps):
    """The losses, and how often blocks ran forward."""
    runs = []
    network = common.network()
    for block in network:
        block.register_forward_pre_hook(lambda *_: runs.append(1))
    model = DistributedDataParallel(torch.nn.Sequential(*map(Recomputed, network)))
    optimizer = torch.optim.SGD(model.parameters(), lr=common.RATE)
    return common.train_on_shares(model, optimizer, steps), len(runs)


def main():
    options = common.start(__doc__)
    losses, runs = train(options.steps)
    common.report(losses, common.train_alone(options.steps))
    if distributed.get_rank() == 0:
        print(f"blocks ran forward {runs} times in {options.steps} steps")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
