"""One rank of PyTorch, unchanged, whose NCCL is rondo's: collectives, then DDP.

    rondorun -n N --nccl --share-gpu python tests/gpu/pytorch_ranks.py

Every element is checked. The program also checks that linked calls go to rondo's NCCL, and that
losses equal those of one process with the whole batches. --nvidia runs with NVIDIA's library, to
compare the time of a step. --short checks one type, and graphs instead of DDP. --device cpu and
--backend make a rehearsal without a GPU.
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
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/torch/examples"))
import common  # noqa: E402
from swapped import activation  # noqa: E402

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8)
COUNTS = (1, 1000, 300_007)
STEPS = 10
SURROUNDINGS = ("CUDA_DEVICE_MAX_CONNECTIONS", "PYTORCH_CUDA_ALLOC_CONF")


def numbers(rank, count, kind, device):
    """Numbers that differ by rank and place, small enough that every type has the sums of eight."""
    return ((torch.arange(count, device=device) * 3 + rank) % 11).to(kind)


def equal(what, got, wanted):
    if not torch.equal(got, wanted):
        at = int((got != wanted).nonzero()[0][0])
        raise RuntimeError(f"{what}, {got.dtype}, {got.numel()} elements: element {at} is {got[at]}, "
                           f"not {wanted[at]}")


def check_collectives(kind, count, device):
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    every = [numbers(each, count, kind, device) for each in range(ranks)]
    mine, root = every[rank], ranks - 1
    total = sum(each.to(torch.int64) for each in every).to(kind)

    value = mine.clone()
    distributed.all_reduce(value)
    equal("all_reduce", value, total)
    value = mine.clone()
    distributed.all_reduce(value, distributed.ReduceOp.MAX)
    equal("all_reduce, max", value, torch.stack(every).max(0).values)
    value = mine.clone()
    distributed.broadcast(value, root)
    equal("broadcast", value, every[root])
    value = mine.clone()
    distributed.reduce(value, 0)
    if rank == 0:
        equal("reduce", value, total)

    gathered = torch.empty(ranks * count, dtype=kind, device=device)
    distributed.all_gather_into_tensor(gathered, mine)
    equal("all_gather", gathered, torch.cat(every))
    parts = [numbers(10 * each + rank, count, kind, device) for each in range(ranks)]
    sums = sum(numbers(10 * rank + each, count, kind, device).to(torch.int64)
               for each in range(ranks)).to(kind)
    value = torch.empty_like(mine)
    distributed.reduce_scatter_tensor(value, torch.cat(parts))
    equal("reduce_scatter", value, sums)
    received = torch.empty_like(gathered)
    distributed.all_to_all_single(received, torch.cat(parts))
    equal("all_to_all", received,
          torch.cat([numbers(10 * rank + each, count, kind, device) for each in range(ranks)]))
    if ranks > 1:
        value = torch.empty_like(mine)
        for work in distributed.batch_isend_irecv(
                [distributed.P2POp(distributed.isend, mine, (rank + 1) % ranks),
                 distributed.P2POp(distributed.irecv, value, (rank - 1) % ranks)]):
            work.wait()
        equal("send and recv", value, every[(rank - 1) % ranks])


def check_graph(device):
    """An all-reduce in a graph, replayed with other numbers."""
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    value = torch.zeros(COUNTS[-1], device=device)
    distributed.all_reduce(value)  # a communicator is made by its first call, not in a capture
    finish(device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        distributed.all_reduce(value)
    for turn in range(3):
        every = [numbers(each + turn, value.numel(), value.dtype, device) for each in range(ranks)]
        value.copy_(every[rank])
        graph.replay()
        equal("all_reduce in a graph", value, sum(every))


def check_split(device):
    """An all-reduce of a second group, which an eager one splits off."""
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    value = torch.full((1000,), rank + 1, device=device)
    distributed.all_reduce(value, group=distributed.new_group())
    equal("all_reduce of a new group", value, torch.full_like(value, ranks * (ranks + 1) // 2))


def losses_of(model, part_of, device):
    """The losses of a training with the rows that `part_of` takes of every batch, averaged over all ranks."""
    optimizer = torch.optim.SGD(model.parameters(), lr=common.RATE)
    losses = []
    for step in range(STEPS):
        x, y = (part_of(rows).to(device) for rows in common.batch(step))
        loss = common.loss_of(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(common.mean_over_ranks(loss))
    return losses


def check_training(device):
    alone = losses_of(common.network().to(device), lambda rows: rows, device)
    together = losses_of(DistributedDataParallel(common.network().to(device)), common.share, device)
    common.report(together, alone)
    return max(abs(a - b) for a, b in zip(together, alone))


def finish(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def step_milliseconds(device):
    """The median of steps of a model of 134 MB of gradients, or of a small one on a CPU."""
    width = 2048 if device.type == "cuda" else 64
    torch.manual_seed(3)
    model = DistributedDataParallel(torch.nn.Sequential(
        *(torch.nn.Linear(width, width) for _ in range(8))).to(device))
    rows = torch.randn(64, width, device=device)
    times = []
    for step in range(15):
        finish(device)
        begin = time.perf_counter()
        model(rows).square().mean().backward()
        finish(device)
        if step >= 5:
            times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--backend", default="nccl")
    parser.add_argument("--nvidia", action="store_true", help="NVIDIA's library: nothing is swapped")
    parser.add_argument("--device-id", action="store_true", help="init_process_group has the device")
    parser.add_argument("--short", action="store_true", help="one type, graphs and no DDP")
    return parser.parse_args()


def check(options, device):
    """What the line of rank 0 says of the checks."""
    for kind in TYPES[:1] if options.short else TYPES:
        for count in COUNTS:
            check_collectives(kind, count, device)
    if options.device_id:
        check_split(device)
    if not options.short:
        return {"largest_loss_difference": check_training(device),
                "step_milliseconds": step_milliseconds(device)}
    if device.type == "cuda":
        check_graph(device)
    return {"eager": options.device_id} | {name: os.environ.get(name) for name in SURROUNDINGS}


def main():
    options = arguments()
    active = activation()
    if not options.nvidia:
        active.check()
    device = torch.device(options.device, int(os.environ["LOCAL_RANK"])
                          if options.device == "cuda" else None)
    if options.device == "cuda":
        torch.cuda.set_device(device)
    distributed.init_process_group(options.backend, device_id=device if options.device_id else None)
    said = check(options, device)
    if not options.nvidia:
        active.check()  # whatever was loaded since
    if distributed.get_rank() == 0:
        print(json.dumps({"kind": "pytorch", "library": "NVIDIA's" if options.nvidia else "rondo",
                          "mapped": active.mapped(), "torch": torch.__version__,
                          "ranks": distributed.get_world_size(), "device": options.device,
                          **said}), flush=True)
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
