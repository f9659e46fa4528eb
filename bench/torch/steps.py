#!/usr/bin/env python3
"""Times training steps of DDP and FSDP2: rondo against gloo, in the same processes, step by step in turn.

    torchrun --nproc-per-node 2 bench/torch/steps.py [--steps N] [--json FILE]

A third copy of the model communicates nothing. With DDP it uses torch's noop_hook, so it fills its
buckets as the others do. With FSDP2 it uses torch's "fake" backend. The communication of a step is its
time minus the time of this copy; it includes waiting for the other ranks. A step's time is that of its
slowest rank. Prints medians in milliseconds; bench/torch/plot.py draws the file.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as distributed
import torch.nn as nn
import torch.testing._internal.distributed.fake_pg  # noqa: F401  (registers "fake")
from torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "compare"))
import record  # noqa: E402

BACKENDS = ("gloo", "rondo", "fake")
BATCH = 8


def network(width, depth):
    torch.manual_seed(7)
    return nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(depth)))


def ddp(model, group):
    silent = distributed.get_backend(group) == "fake"   # DDP cannot start with its calls
    model = nn.parallel.DistributedDataParallel(
        model, process_group=None if silent else group, gradient_as_bucket_view=True)
    if silent:
        model.register_comm_hook(None, noop_hook)
    return model


def fsdp2(precision):
    def wrap(model, group):
        mesh = DeviceMesh.from_group(group, "cpu")
        policy = MixedPrecisionPolicy(param_dtype=precision, reduce_dtype=precision)
        for block in model:
            fully_shard(block, mesh=mesh, mp_policy=policy)
        return fully_shard(model, mesh=mesh, mp_policy=policy)
    return wrap


KINDS = {"ddp": ddp, "fsdp2": fsdp2(None), "fsdp2 bfloat16": fsdp2(torch.bfloat16)}


def make_step(kind, group, width, depth):
    model = KINDS[kind](network(width, depth), group)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(BATCH, width)

    def step():
        optimizer.zero_grad()
        model(x).float().square().mean().backward()
        optimizer.step()
    return step


def timed(step, barrier):
    barrier()
    begin = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - begin)


def possible(name, step, group):
    """Whether every rank can do the step with this backend. gloo lacks some types; others may not fail."""
    done = torch.ones(1)
    try:
        step()
    except (RuntimeError, ValueError) as error:
        if name != "gloo":
            raise
        print(f"not possible with gloo: {str(error).splitlines()[0]}", flush=True)
        done.zero_()
    distributed.all_reduce(done, distributed.ReduceOp.MIN, group=group)
    return done.item() == 1


def measure(kind, groups, options, depth):
    """{backend: median milliseconds} of the backends that can do the step."""
    steps = {name: make_step(kind, group, options.width, depth) for name, group in groups.items()}
    steps = {name: step for name, step in steps.items() if possible(name, step, groups["rondo"])}
    times = {name: [] for name in steps}
    for number in range(options.steps + 3):
        for name, step in steps.items():
            taken = timed(step, lambda: distributed.barrier(group=groups["rondo"]))
            if number >= 3:
                times[name].append(taken)
    return {name: slowest(taken, groups["rondo"]) for name, taken in times.items()}


def slowest(times, group):
    tensor = torch.tensor(times)
    distributed.all_reduce(tensor, distributed.ReduceOp.MAX, group=group)
    return statistics.median(tensor.tolist())


def row(kind, megabytes, times):
    rest = {name: times[name] - times["fake"] for name in ("gloo", "rondo") if name in times}
    ratio = rest["rondo"] / rest["gloo"] if "gloo" in rest else None
    return {"kind": kind, "parameter_mb": megabytes, "step_ms": times, "communication_ms": rest,
            "communication_ratio": ratio,
            "step_ratio": times["rondo"] / times["gloo"] if "gloo" in times else None}


def number(value, form):
    return format(value, form) if value is not None else format("-", f">{form.split('.')[0]}")


def show(result):
    step, rest = result["step_ms"], result["communication_ms"]
    print(f"{result['kind']:15}{result['parameter_mb']:7.0f}" +
          "".join(number(step.get(name), "9.1f") for name in BACKENDS) +
          "".join(number(rest.get(name), "9.1f") for name in ("gloo", "rondo")) +
          number(result["communication_ratio"], "7.2f") + number(result["step_ratio"], "7.2f"), flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=15, help="steps of each backend (15)")
    parser.add_argument("--width", type=int, default=1024,
                        help="width of a layer; with 1024 a layer has 4 MB")
    parser.add_argument("--depths", default="4,16", help="numbers of layers, with commas between (4,16)")
    parser.add_argument("--kinds", default=",".join(KINDS),
                        help=f"kinds of model, with commas between: {', '.join(KINDS)}")
    parser.add_argument("--json", help="add the results to this file")
    parser.add_argument("--network", default="", help="what links there are, for the results")
    parser.add_argument("--command", help="what makes this run again, for the results")
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    groups = {name: distributed.new_group(backend=name) for name in BACKENDS}
    ranks, results = distributed.get_world_size(), []
    if distributed.get_rank() == 0:
        print(f"torch {torch.__version__}, {ranks} processes; ms a step, then of it communication")
        print(f"{'':15}{'MB':>7}" + "".join(f"{name:>9}" for name in (*BACKENDS, "gloo", "rondo")) +
              f"{'ratio':>7}{'step':>7}")
    for kind in options.kinds.split(","):
        for depth in map(int, options.depths.split(",")):
            times = measure(kind, groups, options, depth)
            results.append(row(kind, depth * options.width ** 2 * 4 / 1e6, times))
            if distributed.get_rank() == 0:
                show(results[-1])
    if options.json and distributed.get_rank() == 0:
        write(options, ranks, results)
    distributed.destroy_process_group()


def origin(options, ranks):
    """When and where this run was, of which commit, and the command that makes it again."""
    one = record.run({})
    cores = f"{one['machine']['cores']} cores of an {one['machine']['cpu']}"
    return {"date": one["date"][:10], "commit": one["commit"], "machine": cores,
            "network": options.network,
            "command": options.command or f"torchrun --nproc-per-node {ranks} {one['command']}"}


def write(options, ranks, results):
    path = options.json
    runs = json.load(open(path)) if os.path.exists(path) else []
    runs.append({**origin(options, ranks), "torch": torch.__version__, "processes": ranks,
                 "results": results})
    with open(f"{path}.new", "w") as file:   # the old file stays whole until the new one is
        json.dump(runs, file, indent=1)
        file.write("\n")
    os.replace(f"{path}.new", path)


if __name__ == "__main__":
    main()
