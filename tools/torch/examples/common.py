"""What the examples share: a small task, the same training in one process, and a report.

Every example trains one small network on several processes and compares its losses with those of
one process that does all the work alone.
"""

import argparse

import torch
import torch.distributed as distributed
import torch.nn as nn
import torch.nn.functional as functional

WIDTH = 32
BATCH = 16
RATE = 0.05


def arguments(description, **more):
    """`more`: further options, by name, as keywords of add_argument()."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="rondo", help="rondo (default) or gloo")
    parser.add_argument("--steps", type=int, default=10, help="optimizer steps (default 10)")
    for name, keywords in more.items():
        parser.add_argument("--" + name.replace("_", "-"), **keywords)
    return parser.parse_args()


def start(description, **more):
    """Reads the options and joins the job. Works with every launcher."""
    options = arguments(description, **more)
    distributed.init_process_group(options.backend, init_method="rondo://")
    return options


class Block(nn.Module):
    """Two matrices with GELU between them, and a residual connection around them."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(x)))


def network(blocks=4):
    """The network, with the same numbers in every process."""
    torch.manual_seed(7)
    return nn.Sequential(*(Block() for _ in range(blocks)))


def batch(step):
    """The whole batch of a step. Each process takes its own part of it."""
    generator = torch.Generator().manual_seed(1000 + step)
    x = torch.randn(BATCH, WIDTH, generator=generator)
    return x, torch.roll(x, 1, dims=1)


def share(tensor):
    """This process's rows."""
    return tensor.chunk(distributed.get_world_size())[distributed.get_rank()]


def loss_of(output, target):
    return functional.mse_loss(output, target)


def train_alone(steps, make_optimizer=lambda parameters: torch.optim.SGD(parameters, lr=RATE)):
    """The losses of one process."""
    model = network()
    optimizer = make_optimizer(model.parameters())
    losses = []
    for step in range(steps):
        x, y = batch(step)
        loss = loss_of(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_on_shares(model, optimizer, steps):
    """Data parallel training: each process takes its rows of every batch. The losses over all rows."""
    losses = []
    for step in range(steps):
        x, y = map(share, batch(step))
        loss = loss_of(model(x).float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(mean_over_ranks(loss))
    return losses


def mean_over_ranks(loss):
    total = loss.detach().clone()
    distributed.all_reduce(total)
    return total.item() / distributed.get_world_size()


def report(losses, alone, tolerance=1e-5):
    """Prints both. Raises an error if they differ by more than `tolerance`."""
    worst = max(abs(a - b) for a, b in zip(losses, alone))
    if distributed.get_rank() == 0:
        for step, (loss, expected) in enumerate(zip(losses, alone)):
            print(f"step {step:3}  loss {loss:.6f}  in one process {expected:.6f}")
        print(f"largest difference {worst:.1e}, at most {tolerance:.0e}")
    if worst > tolerance or losses[-1] >= losses[0]:
        raise RuntimeError(f"losses differ by {worst} from those of one process, or do not fall")
