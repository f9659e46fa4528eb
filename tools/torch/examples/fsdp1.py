"""Sharded data parallel by the older class FullyShardedDataParallel, which wraps modules.

    torchrun --nproc-per-node 4 tools/torch/examples/fsdp1.py --backend rondo

FULL_SHARD shards parameters, gradients and optimizer state (ZeRO-3). SHARD_GRAD_OP keeps the gathered
parameters during a step (ZeRO-2). HYBRID_SHARD shards within pairs and averages between the pairs.
"""

import torch
import torch.distributed as distributed
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

import common


def train(steps, strategy=ShardingStrategy.FULL_SHARD):
    pairs = None
    if strategy == ShardingStrategy.HYBRID_SHARD:
        pairs = distributed.device_mesh.init_device_mesh(
            "cpu", (distributed.get_world_size() // 2, 2), mesh_dim_names=("between", "within"))
    model = FullyShardedDataParallel(
        common.network(), sharding_strategy=strategy, device_mesh=pairs,
        auto_wrap_policy=ModuleWrapPolicy({common.Block}), device_id=torch.device("cpu"))
    return common.train_on_shares(model, torch.optim.SGD(model.parameters(), lr=common.RATE), steps)


def main():
    options = common.start(__doc__)
    alone = common.train_alone(options.steps)
    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP,
                     ShardingStrategy.HYBRID_SHARD):
        common.report(train(options.steps, strategy), alone)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
