"""Whole trainings equal those of one process: the examples, and what they leave out."""

import pathlib
import sys

import torch
import torch.distributed as distributed

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/torch/examples"))

import common  # noqa: E402
import ddp  # noqa: E402
import fsdp2  # noqa: E402
import job  # noqa: E402
import pipeline  # noqa: E402
import tensor_parallel  # noqa: E402
import zero  # noqa: E402
from job import rank, ranks  # noqa: E402

STEPS = 5


def check(losses, tolerance=1e-5, alone=None):
    alone = alone or common.train_alone(STEPS)
    worst = max(abs(a - b) for a, b in zip(losses, alone))
    assert len(losses) == STEPS and worst <= tolerance, f"{losses}, wanted {alone}"


def test_ddp():
    check(ddp.train(STEPS))


def test_fsdp2():
    check(fsdp2.train(STEPS))


def test_fsdp2_in_16_bits():
    for precision in (torch.bfloat16, torch.float16):
        check(fsdp2.train(STEPS, precision), 3e-2)


def test_zero():
    check(zero.train(STEPS), 1e-4,
          common.train_alone(STEPS, lambda parameters: torch.optim.Adam(parameters, lr=0.003)))


def test_tensor_parallel():
    check(tensor_parallel.train(STEPS))
    check(tensor_parallel.train(STEPS, spread_rows=True))


def test_pipelines():
    from torch.distributed.pipelining import Schedule1F1B, ScheduleGPipe
    for schedule in (ScheduleGPipe, Schedule1F1B):
        check(pipeline.train(STEPS, schedule))


def test_powersgd_hook():
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    model = torch.nn.parallel.DistributedDataParallel(common.network())
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=common.RATE)
    losses = []
    for step in range(6):  # its futures are chained through several calls
        x, y = map(common.share, common.batch(step))
        loss = common.loss_of(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(common.mean_over_ranks(loss))
    assert losses[-1] < losses[0], losses
    for parameter in model.parameters():
        other = parameter.detach().clone()
        distributed.broadcast(other, 0)
        job.equal(parameter.detach(), other, what="parameters are the same everywhere")


def test_checkpoint():
    import tempfile
    import torch.distributed.checkpoint as checkpoint
    folder = [tempfile.mkdtemp() if rank() == 0 else None]
    distributed.broadcast_object_list(folder, 0)
    mesh = distributed.device_mesh.init_device_mesh("cpu", (ranks(),))
    saved, loaded = (distributed.tensor.distribute_tensor(
        torch.arange(64.0) * factor, mesh, [distributed.tensor.Shard(0)]) for factor in (1, 0))
    checkpoint.save({"values": saved}, checkpoint_id=folder[0])
    checkpoint.load({"values": loaded}, checkpoint_id=folder[0])
    job.equal(loaded.full_tensor(), torch.arange(64.0))
    distributed.barrier()
    if rank() == 0:
        import shutil
        shutil.rmtree(folder[0])


if __name__ == "__main__":
    job.run(globals())
