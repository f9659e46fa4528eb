"""ZeRO-1: data parallel, but each process keeps the optimizer state of a part of the parameters only.

    torchrun --nproc-per-node 4 tools/torch/examples/zero.py --backend rondo

ZeRO-2 and ZeRO-3 are in fsdp2.py.
"""

import torch
import torch.distributed as distributed
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

import common


def train(steps):
    model = DistributedDataParallel(common.network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.003)
    return common.train_on_shares(model, optimizer, steps)


def main():
    options = common.start(__doc__)
    alone = common.train_alone(options.steps, lambda p: torch.optim.Adam(p, lr=0.003))
    common.report(train(options.steps), alone, tolerance=1e-4)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
