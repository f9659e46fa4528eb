"""Tensor parallel: every process has some columns of one matrix and the matching rows of the next.

    torchrun --nproc-per-node 4 tools/torch/examples/tensor_parallel.py --backend rondo

The outputs of the second matrix are summed over the processes, with one all-reduce for each block. With
sequence parallelism the activations between blocks are sharded, too. That takes an all-gather and a
reduce-scatter.
"""

import torch
import torch.distributed as distributed
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel, parallelize_module)

import common


def train(steps, spread_rows=False):
    model = common.network()
    mesh = distributed.device_mesh.init_device_mesh("cpu", (distributed.get_world_size(),))
    for block in model:
        parallelize_module(block, mesh, {
            "up": ColwiseParallel(input_layouts=Shard(0)) if spread_rows else ColwiseParallel(),
            "down": RowwiseParallel(output_layouts=Shard(0)) if spread_rows else RowwiseParallel()})
    optimizer = torch.optim.SGD(model.parameters(), lr=common.RATE)
    losses = []
    for step in range(steps):
        x, y = common.batch(step)
        if spread_rows:
            loss = common.loss_of(model(common.share(x)), common.share(y))
        else:
            loss = common.loss_of(model(x), y)
        optimizer.zero_grad()
        (loss / distributed.get_world_size() if spread_rows else loss).backward()
        optimizer.step()
        losses.append(common.mean_over_ranks(loss))
    return losses


def main():
    options = common.start(__doc__)
    alone = common.train_alone(options.steps)
    for spread_rows in (False, True):
        common.report(train(options.steps, spread_rows), alone)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
