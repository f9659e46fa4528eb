"""Data parallel: every process has the whole model and a part of the batch; gradients are averaged.

    torchrun --nproc-per-node 4 tools/torch/examples/ddp.py --backend rondo
"""

import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

import common


def train(steps):
    model = DistributedDataParallel(common.network(), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=common.RATE)
    losses = []
    for step in range(steps):
        x, y = map(common.share, common.batch(step))
        halves = list(zip(x.chunk(2), y.chunk(2)))
        optimizer.zero_grad()
        parts = []
        for number, (inputs, targets) in enumerate(halves):  # two small steps, one all-reduce
            model.require_backward_grad_sync = number == len(halves) - 1
            loss = common.loss_of(model(inputs), targets) / len(halves)
            loss.backward()
            parts.append(loss.detach())
        optimizer.step()
        losses.append(common.mean_over_ranks(sum(parts)))
    return losses


def main():
    options = common.arguments(__doc__)
    distributed.init_process_group(options.backend)
    common.report(train(options.steps), common.train_alone(options.steps))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
