#!/usr/bin/env python3
"""Times calls of torch.distributed: rondo against gloo, in the same processes, call by call in turn.

    torchrun --nproc-per-node 2 tests/torch/speed.py [--sizes 4096,...] [--seconds S]

Prints a table: median microseconds of each and their ratio. A call's time is that of its slowest
rank; both backends begin every call together.
"""

import argparse
import statistics
import time

import torch
import torch.distributed as distributed

SIZES = [4096, 32768, 262144, 1 << 20, 4 << 20, 16 << 20, 64 << 20]


def calls(size, group):
    """Name and call; `size` is bytes of the larger tensor, float32."""
    ranks = distributed.get_world_size()
    count = size // 4 // ranks * ranks
    whole, part = torch.ones(count), torch.ones(count // ranks)
    return {
        "all_reduce": lambda: distributed.all_reduce(whole, group=group),
        "reduce_scatter": lambda: distributed.reduce_scatter_tensor(part, whole, group=group),
        "all_gather": lambda: distributed.all_gather_into_tensor(whole, part, group=group)}


def timed(call, group):
    distributed.barrier(group=group)
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def compare(size, groups, seconds):
    """{call: {backend: microseconds of each round on this rank}}"""
    of = {name: calls(size, group) for name, group in groups.items()}
    times = {}
    for call in of["rondo"]:
        rounds = {name: [] for name in groups}
        begin, enough = time.perf_counter(), torch.zeros(1)
        while enough.item() == 0:
            for name, group in groups.items():
                rounds[name].append(1e6 * timed(of[name][call], groups["rondo"]))
            over = len(rounds["rondo"]) >= 8 and time.perf_counter() - begin > seconds
            enough[0] = float(over)
            distributed.broadcast(enough, 0, group=groups["rondo"])
        times[call] = {name: slowest(taken[3:]) for name, taken in rounds.items()}
    return times


def slowest(times):
    tensor = torch.tensor(times)
    distributed.all_reduce(tensor, distributed.ReduceOp.MAX)
    return statistics.median(tensor.tolist())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="bytes, with commas")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each call and size (0.3)")
    options = parser.parse_args()
    distributed.init_process_group("gloo")
    groups = {name: distributed.new_group(backend=name) for name in ("gloo", "rondo")}
    if distributed.get_rank() == 0:
        print(f"torch {torch.__version__}, {distributed.get_world_size()} processes, float32, median us")
        print(f"{'call':15}{'bytes':>10}{'gloo':>10}{'rondo':>10}{'ratio':>7}")
    for size in map(int, options.sizes.split(",")):
        for call, times in compare(size, groups, options.seconds).items():
            if distributed.get_rank() == 0:
                print(f"{call:15}{size:10}{times['gloo']:10.1f}{times['rondo']:10.1f}"
                      f"{times['rondo'] / times['gloo']:7.2f}", flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
