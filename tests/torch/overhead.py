#!/usr/bin/env python3
"""What a call through torch.distributed costs beyond rondo's own. With one rank, so calls do nothing.

    tests/torch/overhead.py

Prints microseconds per call, through torch.distributed and through the process group itself, waiting and
asynchronous. rondo, gloo and torch's "fake" backend, which does nothing, take turns; so does rondo's own
call from Python ("own"). The last column is the backend's overhead: rondo - fake - own.
"""

import statistics
import tempfile
import time

import numpy
import rondo
import torch
import torch.distributed as distributed
import torch.testing._internal.distributed.fake_pg  # noqa: F401  (registers "fake")

CALLS, ROUNDS = 1000, 15


def ways(group, tensor):
    options = distributed.AllreduceOptions()
    options.asyncOp = False
    return {"torch.distributed.all_reduce": lambda: distributed.all_reduce(tensor, group=group),
            "the same, asynchronous": lambda: distributed.all_reduce(
                tensor, group=group, async_op=True).wait(),
            "process group's allreduce": lambda: group.allreduce([tensor], options).wait()}


def microseconds(call):
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return 1e6 * (time.perf_counter() - begin) / CALLS


def main():
    with tempfile.NamedTemporaryFile() as meeting:
        distributed.init_process_group("gloo", init_method=f"file://{meeting.name}", rank=0, world_size=1)
        groups = {name: distributed.new_group(backend=name) for name in ("gloo", "fake", "rondo")}
        tensor, array, own = torch.ones(1), numpy.ones(1, "float32"), rondo.from_threads(1)[0]
        for way in ways(None, tensor):
            taken = {name: [] for name in (*groups, "own")}
            for _ in range(ROUNDS):
                for name, group in groups.items():
                    taken[name].append(microseconds(ways(group, tensor)[way]))
                taken["own"].append(microseconds(lambda: own.all_reduce(array)))
            median = {name: statistics.median(times) for name, times in taken.items()}
            print(f"{way:30}" + "".join(f"  {name} {time:6.2f}" for name, time in median.items()) +
                  f"  overhead {median['rondo'] - median['fake'] - median['own']:6.2f}")
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
