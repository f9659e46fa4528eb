"""Sharded data parallel (ZeRO-3): every process keeps a part of each parameter, gathered when needed.

    torchrun --nproc-per-node 4 tools/torch/examples/fsdp2.py --backend rondo
"""

import torch
import torch.distributed as distributed
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import common


def train(steps, precision=None):
    model = common.network()
    policy = MixedPrecisionPolicy(param_dtype=precision, reduce_dtype=precision)
    mesh = distributed.device_mesh.init_device_mesh("cpu", (distributed.get_world_size(),))
    for block in model:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.SGD(model.parameters(), lr=common.RATE)
    losses = []
    for step in range(steps):
        x, y = map(common.share, common.batch(step))
        loss = common.loss_of(model(x).float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(common.mean_over_ranks(loss))
    return losses


def main():
    options = common.arguments(__doc__)
    distributed.init_process_group(options.backend)
    alone = common.train_alone(options.steps)
    common.report(train(options.steps), alone)
    common.report(train(options.steps, torch.bfloat16), alone, tolerance=3e-2)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
