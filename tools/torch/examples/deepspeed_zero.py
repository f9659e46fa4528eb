"""DeepSpeed's ZeRO, stages 1, 2 and 3.

    torchrun --nproc-per-node 2 tools/torch/examples/deepspeed_zero.py --backend rondo

Needs the package deepspeed (pip install deepspeed).
"""

import os

import torch
import torch.distributed as distributed

import common

os.environ.setdefault("DS_ACCELERATOR", "cpu")


def configuration(stage):
    return {"train_batch_size": common.BATCH, "train_micro_batch_size_per_gpu":
            common.BATCH // distributed.get_world_size(),
            "gradient_clipping": 0.0,
            "zero_optimization": {"stage": stage}, "zero_allow_untested_optimizer": True}


def train(steps, stage):
    import deepspeed
    # DeepSpeed would now compile its own all-reduce for inference, which takes minutes.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    model = common.network()
    engine, _, _, _ = deepspeed.initialize(
        model=model, config=configuration(stage), dist_init_required=False,
        optimizer=torch.optim.SGD(model.parameters(), lr=common.RATE))
    losses = []
    for step in range(steps):
        x, y = map(common.share, common.batch(step))
        loss = common.loss_of(engine(x), y)
        engine.backward(loss)
        engine.step()
        losses.append(common.mean_over_ranks(loss))
    return losses


def main():
    options = common.start(__doc__)
    alone = common.train_alone(options.steps)
    for stage in (1, 2, 3):
        common.report(train(options.steps, stage), alone)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
