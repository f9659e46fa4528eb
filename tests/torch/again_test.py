"""Process groups that are made and destroyed many times leave nothing behind."""

import datetime
import os
import pathlib
import threading
import time

import torch
import torch.distributed as distributed

import job
from job import equal

TIMES = 20


def left_behind():
    """Open files, threads and names in shared memory of this process."""
    return (len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")),
            threading.active_count())


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096


def life(number, store, rank, ranks):
    """One life of a process group, with all kinds of work and a second group. The store still holds what
    earlier lives left there, as when torchrun restarts processes. Rank 0 comes last."""
    if rank > 0:
        store.set(f"life {number}: {rank}", "comes")
    else:
        store.wait([f"life {number}: {other}" for other in range(1, ranks)])
    distributed.init_process_group("rondo", store=distributed.PrefixStore("job", store), rank=rank,
                                   world_size=ranks, timeout=datetime.timedelta(seconds=300))
    part = distributed.new_group(list(range(ranks)))
    tensor = torch.ones(20_000)
    distributed.all_reduce(tensor)
    distributed.all_reduce(tensor, group=part, async_op=True).get_future().wait()
    equal(tensor, torch.full((20_000,), float(ranks * ranks)))
    distributed.barrier()
    distributed.destroy_process_group()


def main():
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = distributed.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), ranks, rank == 0)
    for number in range(TIMES):
        if number == 5:
            before, memory = left_behind(), resident()
        life(number, store, rank, ranks)
    end = time.monotonic() + 60   # some things are closed a while after the last life's end
    while any(now >= then + TIMES // 3 for now, then in zip(left_behind(), before)):
        assert time.monotonic() < end, f"files, threads: {left_behind()}, before {before}"
        time.sleep(0.05)
    assert resident() - memory < 8 << 20, f"{memory} to {resident()} bytes"
    job.leave_together(store, "done", rank, ranks)
    if rank == 0:
        print("passed")


main()
