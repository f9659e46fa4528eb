"""Metrics over all processes: each counts its own data, and one all-reduce adds them up.

    torchrun --nproc-per-node 4 tools/torch/examples/metrics.py --backend rondo

A mean of means is wrong if processes have different numbers of rows. So sums and counts are reduced
first and divided afterwards. Integers stay integers, so the table of classes is exact.
"""

import torch
import torch.distributed as distributed

import common

CLASSES = 5
ROWS = 103   # not divisible by the number of processes: they have different numbers of rows


class Metrics:
    def __init__(self):
        self.sums = torch.zeros(3, dtype=torch.float64)               # rows, losses, their squares
        self.largest = torch.full((1,), -torch.inf, dtype=torch.float64)
        self.table = torch.zeros(CLASSES, CLASSES, dtype=torch.int64)  # true class, predicted class

    def add(self, scores, classes):
        losses = torch.nn.functional.cross_entropy(scores, classes, reduction="none").double()
        self.sums += torch.stack([torch.tensor(len(losses)), losses.sum(), losses.square().sum()])
        self.largest = torch.maximum(self.largest, losses.max())
        self.table.index_put_((classes, scores.argmax(1)), torch.tensor(1), accumulate=True)

    def reduce(self):
        """Adds up the counts. Afterwards every process has the totals."""
        for tensor, operator in ((self.sums, distributed.ReduceOp.SUM),
                                 (self.largest, distributed.ReduceOp.MAX),
                                 (self.table, distributed.ReduceOp.SUM)):
            distributed.all_reduce(tensor, operator)

    def values(self):
        rows, total, squares = self.sums.tolist()
        mean = total / rows
        return {"rows": int(rows), "loss": mean, "spread of the loss": (squares / rows - mean**2) ** 0.5,
                "largest loss": self.largest.item(),
                "accuracy": self.table.diagonal().sum().item() / self.table.sum().item()}


def measured(rank, ranks):
    """The metrics of one process's own rows."""
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(ROWS, CLASSES, generator=generator)
    classes = torch.randint(CLASSES, (ROWS,), generator=generator)
    metrics = Metrics()
    metrics.add(scores[rank::ranks], classes[rank::ranks])
    return metrics


def compare():
    """(metrics over all processes, metrics of one process that has all rows)"""
    metrics, alone = measured(distributed.get_rank(), distributed.get_world_size()), measured(0, 1)
    metrics.reduce()
    if not torch.equal(metrics.table, alone.table):
        raise RuntimeError("the table of classes differs from that of one process")
    return metrics.values(), alone.values()


def main():
    common.start(__doc__)
    metrics, alone = compare()
    for name, value in metrics.items():
        if distributed.get_rank() == 0:
            print(f"{name:20} {value:.6g}  in one process {alone[name]:.6g}")
        if abs(value - alone[name]) > 1e-6:
            raise RuntimeError(f"{name} differs from that of one process")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
