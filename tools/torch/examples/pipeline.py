"""Pipeline parallel: every process has some of the layers; small batches flow through them.

    torchrun --nproc-per-node 4 tools/torch/examples/pipeline.py --backend rondo

GPipe runs all forward passes before the backward passes; 1F1B alternates. With P processes and M small
batches a process is idle for (P-1)/(M+P-1) of the time: the bubble.
"""

import torch
import torch.distributed as distributed
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

import common

SMALL_BATCHES = 8


def train(steps, schedule_of):
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    whole = common.network()
    blocks = len(whole) // ranks
    own = whole[rank * blocks:(rank + 1) * blocks]
    stage = PipelineStage(own, rank, ranks, torch.device("cpu"))
    schedule = schedule_of(stage, SMALL_BATCHES, loss_fn=common.loss_of)
    optimizer = torch.optim.SGD(own.parameters(), lr=common.RATE)
    losses = []
    for step in range(steps):
        x, y = common.batch(step)
        parts = []
        optimizer.zero_grad()
        if rank == 0 and ranks == 1:
            schedule.step(x, target=y, losses=parts)
        elif rank == 0:
            schedule.step(x)
        elif rank == ranks - 1:
            schedule.step(target=y, losses=parts)
        else:
            schedule.step()
        optimizer.step()
        loss = torch.stack(parts).mean().detach() if parts else torch.zeros(())
        distributed.broadcast(loss, ranks - 1)
        losses.append(loss.item())
    return losses


def main():
    options = common.start(__doc__)
    alone = common.train_alone(options.steps)
    for schedule in (ScheduleGPipe, Schedule1F1B):
        common.report(train(options.steps, schedule), alone)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
