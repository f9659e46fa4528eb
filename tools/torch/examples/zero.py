"""ZeRO-1: data parallel, but each process keeps the optimizer's state of its part of the parameters.

    torchrun --nproc-per-node 4 tools/torch/examples/zero.py --backend rondo
"""

import torch
import torch.distributed as distributed
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

import common


def train(steps):
    model = DistributedDataParallel(common.network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.003)
    losses = []
    for step in range(steps):
        x, y = map(common.share, common.batch(step))
        loss = common.loss_of(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(common.mean_over_ranks(loss))
    return losses


def main():
    options = common.arguments(__doc__)
    distributed.init_process_group(options.backend)
    alone = common.train_alone(options.steps, lambda p: torch.optim.Adam(p, lr=0.003))
    common.report(train(options.steps), alone, tolerance=1e-4)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
