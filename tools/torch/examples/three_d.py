"""Data, pipeline and tensor parallel at once: 8 processes as a cube of 2 x 2 x 2.

    torchrun --nproc-per-node 8 tools/torch/examples/three_d.py --backend rondo

Every process is in three groups of two. Its partners have
- the same layers and the other rows of the batch
- the layers before or after its own
- the other half of each matrix

The binary digits of a rank are its place: 5 = 101 is second in the first and third group.
"""

import torch
import torch.distributed as distributed
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import common

SMALL_BATCHES = 4


def cube():
    ranks = distributed.get_world_size()
    if ranks % 4:
        raise SystemExit(f"{ranks} processes make no cube: start 8, or 4 for one without data parallel")
    return distributed.device_mesh.init_device_mesh(
        "cpu", (ranks // 4, 2, 2), mesh_dim_names=("data", "pipeline", "tensor"))


def own_layers(mesh):
    """Half of the layers, with half of the columns or rows of their matrices."""
    whole, place = common.network(), mesh["pipeline"].get_local_rank()
    own = whole[:len(whole) // 2] if place == 0 else whole[len(whole) // 2:]
    for block in own:
        parallelize_module(block, mesh["tensor"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return own


def average_gradients(layers, group):
    for parameter in layers.parameters():
        distributed.all_reduce(parameter.grad.to_local(), group=group)
        parameter.grad.to_local().div_(group.size())


def train(steps):
    mesh = cube()
    own, place = own_layers(mesh), mesh["pipeline"].get_local_rank()
    data, pipeline = mesh.get_group("data"), mesh.get_group("pipeline")
    stage = PipelineStage(own, place, 2, torch.device("cpu"), group=pipeline)
    schedule = Schedule1F1B(stage, SMALL_BATCHES, loss_fn=common.loss_of)
    optimizer = torch.optim.SGD(own.parameters(), lr=common.RATE)
    losses = []
    for step in range(steps):
        x, y = (whole.chunk(data.size())[data.rank()] for whole in common.batch(step))
        optimizer.zero_grad()
        parts = []
        schedule.step(*([x] if place == 0 else []), **({"target": y, "losses": parts} if place else {}))
        average_gradients(own, data)
        optimizer.step()
        # Both processes of a tensor group have the same loss. The first stages have none.
        losses.append(2 * common.mean_over_ranks(torch.stack(parts).mean() if parts else torch.zeros(())))
    return losses


def main():
    options = common.start(__doc__)
    common.report(train(options.steps), common.train_alone(options.steps))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
