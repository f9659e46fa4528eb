"""Data parallel: every process has the whole model and a part of the rows; gradients are averaged.

    torchrun --nproc-per-node 4 tools/torch/examples/ddp.py --backend rondo

Gradients are accumulated over two small steps and averaged once. They lie in the buffers that are sent.
The second training computes in 16 bits where autocast finds that sufficient.
"""

import contextlib

import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import common

SMALL_STEPS = 2


def loader_of(steps):
    """Every process reads its own rows; together those of a step are one batch."""
    rows = TensorDataset(*map(torch.cat, zip(*map(common.batch, range(steps)))))
    return DataLoader(rows, common.BATCH // distributed.get_world_size(),
                      sampler=DistributedSampler(rows, shuffle=False))


def train(steps, sixteen_bits=False):
    model = DistributedDataParallel(common.network(), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=common.RATE)
    losses = []
    for x, y in loader_of(steps):
        optimizer.zero_grad()
        total = torch.zeros(())
        for small_step in range(SMALL_STEPS):
            is_last = small_step == SMALL_STEPS - 1
            with contextlib.nullcontext() if is_last else model.no_sync():
                with torch.autocast("cpu", torch.bfloat16, enabled=sixteen_bits):
                    output = model(x.chunk(SMALL_STEPS)[small_step])
                target = y.chunk(SMALL_STEPS)[small_step]
                loss = common.loss_of(output.float(), target) / SMALL_STEPS
                loss.backward()
            total += loss.detach()
        optimizer.step()
        losses.append(common.mean_over_ranks(total))
    return losses


def main():
    options = common.start(__doc__)
    alone = common.train_alone(options.steps)
    common.report(train(options.steps), alone)
    common.report(train(options.steps, sixteen_bits=True), alone, tolerance=3e-2)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
