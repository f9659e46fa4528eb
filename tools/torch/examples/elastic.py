"""A process dies, torchrun restarts all processes, and they continue from the last checkpoint.

    torchrun --nproc-per-node 2 --max-restarts 1 tools/torch/examples/elastic.py --die-at 4

Without --die-at no process dies. Process 0 writes the checkpoints into the folder --checkpoints. Each
has another name until it is complete, so none is ever half written.
"""

import os
import pathlib
import signal

import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

import common


def save(path, **what):
    if distributed.get_rank() == 0:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        torch.save(what, unfinished)
        unfinished.replace(path)
    distributed.barrier()  # a process that dies later has left this barrier


def die_once(step, die_at):
    """The last process ends without warning, but only if it has not been restarted."""
    first = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
    if first and step == die_at and distributed.get_rank() == distributed.get_world_size() - 1:
        os.kill(os.getpid(), signal.SIGKILL)


def train(steps, path, die_at=None):
    """The losses, and the step at which this process began."""
    model = DistributedDataParallel(common.network())
    optimizer = torch.optim.SGD(model.parameters(), lr=common.RATE, momentum=0.5)
    losses = []
    if path.exists():
        checkpoint = torch.load(path)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        losses = checkpoint["losses"]
    begin = len(losses)
    for step in range(begin, steps):
        die_once(step, die_at)
        x, y = map(common.share, common.batch(step))
        loss = common.loss_of(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(common.mean_over_ranks(loss))
        save(path, model=model.state_dict(), optimizer=optimizer.state_dict(), losses=losses)
    return losses, begin


def main():
    options = common.start(
        __doc__, die_at={"type": int, "metavar": "STEP", "help": "the last process dies before it"},
        checkpoints={"type": pathlib.Path, "default": "checkpoints", "help": "folder (default checkpoints)"})
    losses, begin = train(options.steps, pathlib.Path(options.checkpoints) / "elastic.pt", options.die_at)
    if distributed.get_rank() == 0:
        print(f"went on from step {begin}" if begin else "began at step 0")
    common.report(losses, common.train_alone(
        options.steps, lambda p: torch.optim.SGD(p, lr=common.RATE, momentum=0.5)))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
