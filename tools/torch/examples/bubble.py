"""How long the processes of a pipeline are idle.

    torchrun --nproc-per-node 4 tools/torch/examples/bubble.py --backend rondo

The textbook's idle share, for P processes and M small batches, is (P-1)/(M+P-1). It holds for GPipe
and for 1F1B, which keeps fewer activations. Here each process records the order of its work. From these
records follows the idle share if messages took no time. The share is also measured, with layers that
sleep instead of computing, so that it shows on a machine with few cores.
"""

import time

import torch
import torch.distributed as distributed
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

import common

FORWARD, BACKWARD = 0.02, 0.04   # seconds for a small batch


class Work(torch.autograd.Function):
    """Passes its input on after a fixed time."""

    take = staticmethod(time.sleep)

    @staticmethod
    def forward(context, x, diary):
        context.diary = diary
        diary.append("forward")
        Work.take(FORWARD)
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        context.diary.append("backward")
        Work.take(BACKWARD)
        return gradient, None


class Stage(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(()))
        self.diary = []

    def forward(self, x):
        return Work.apply(x * self.factor, self.diary)


def run(schedule_of, small_batches):
    """(this process's diary, seconds from the first beginning to the last end)"""
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    own = Stage()
    stage = PipelineStage(own, rank, ranks, torch.device("cpu"))
    schedule = schedule_of(stage, small_batches, loss_fn=common.loss_of)
    x, y = torch.ones(small_batches, 4), torch.zeros(small_batches, 4)
    for _ in range(2):   # in the first round they exchange the shapes
        own.diary.clear()
        distributed.barrier()
        begin = time.monotonic()
        schedule.step(*([x] if rank == 0 else []), **({"target": y} if rank == ranks - 1 else {}))
        distributed.barrier()
    return own.diary, time.monotonic() - begin


def end_of(diaries):
    """When the last process ends if each follows its diary as early as possible."""
    ends, clocks, read = {}, [0.0] * len(diaries), [0] * len(diaries)
    while any(place < len(diary) for place, diary in zip(read, diaries)):
        before = list(read)
        for rank, diary in enumerate(diaries):
            while read[rank] < len(diary):
                kind = diary[read[rank]]
                number = diary[:read[rank]].count(kind)
                giver = rank - 1 if kind == "forward" else rank + 1
                if 0 <= giver < len(diaries) and (giver, kind, number) not in ends:
                    break
                start = max(clocks[rank], ends.get((giver, kind, number), 0.0))
                clocks[rank] = start + (FORWARD if kind == "forward" else BACKWARD)
                ends[rank, kind, number] = clocks[rank]
                read[rank] += 1
        if read == before:
            raise RuntimeError(f"these diaries wait for each other in a circle: {diaries}")
    return max(clocks)


def bubbles(schedule_of, small_batches):
    """(the textbook's share, the one that the diaries give, the measured one)"""
    ranks, work = distributed.get_world_size(), small_batches * (FORWARD + BACKWARD)
    diary, seconds = run(schedule_of, small_batches)
    diaries = [None] * ranks
    distributed.all_gather_object(diaries, diary)
    return (ranks - 1) / (small_batches + ranks - 1), 1 - work / end_of(diaries), 1 - work / seconds


def main():
    common.start(__doc__)
    for schedule in (ScheduleGPipe, Schedule1F1B):
        for small_batches in (4, 8, 16):
            textbook, counted, measured = bubbles(schedule, small_batches)
            if distributed.get_rank() == 0:
                print(f"{schedule.__name__:13} {small_batches:3} small batches: bubble {textbook:.3f}, "
                      f"of what was done {counted:.3f}, measured {measured:.3f}")
            if abs(counted - textbook) > 1e-9:
                raise RuntimeError("the schedule leaves another bubble than the textbook says")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
