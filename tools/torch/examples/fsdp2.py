"""Sharded data parallel: every process keeps a part of each parameter and gathers the rest when needed.

    torchrun --nproc-per-node 4 tools/torch/examples/fsdp2.py --backend rondo

ZeRO-3 gathers parameters for the forward pass and again for the backward pass. ZeRO-2 keeps them in
between. The last training sends parameters and gradients in 16 bits.
"""

import torch
import torch.distributed as distributed
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import common


def train(steps, precision=None, gather_twice=True):
    model = common.network()
    policy = MixedPrecisionPolicy(param_dtype=precision, reduce_dtype=precision)
    mesh = distributed.device_mesh.init_device_mesh("cpu", (distributed.get_world_size(),))
    for part in (*model, model):
        fully_shard(part, mesh=mesh, mp_policy=policy, reshard_after_forward=gather_twice)
    return common.train_on_shares(model, torch.optim.SGD(model.parameters(), lr=common.RATE), steps)


def main():
    options = common.start(__doc__)
    alone = common.train_alone(options.steps)
    common.report(train(options.steps), alone)
    common.report(train(options.steps, gather_twice=False), alone)
    common.report(train(options.steps, torch.bfloat16), alone, tolerance=3e-2)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
