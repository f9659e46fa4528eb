"""Checks that all processes have the same parameters; if not, names parameter and processes.

    torchrun --nproc-per-node 4 tools/torch/examples/consistency.py --backend rondo

Data parallel training is only right while they do. Otherwise, for example after a forgotten seed, the
only sign is a worse result. The check sends 16 bytes for each parameter.
"""

import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

import common


def fingerprint(tensor):
    """Two numbers as a digest of the tensor's bits and their order."""
    bits = tensor.detach().contiguous().view(torch.uint8).flatten().to(torch.int64)
    places = torch.arange(1, len(bits) + 1)
    return torch.stack([(bits * places).sum(), (bits * (places * 2654435761 % 1000003)).sum()])


def differences(model):
    """{name of a parameter or buffer: the processes whose value differs from process 0's}"""
    named = dict(model.named_parameters()) | dict(model.named_buffers())
    own = torch.stack([fingerprint(tensor) for tensor in named.values()])
    everybodys = own.new_empty(distributed.get_world_size() * len(own), 2)
    distributed.all_gather_into_tensor(everybodys, own)
    everybodys = everybodys.view(-1, *own.shape)          # process, parameter, number
    differs = (everybodys != everybodys[0]).any(dim=2)
    return {name: differs[:, column].nonzero().flatten().tolist()
            for column, name in enumerate(named) if differs[:, column].any()}


def train_and_check(steps):
    """(losses, differences after training, differences after one process changed a number)"""
    model = DistributedDataParallel(common.network())
    losses = common.train_on_shares(model, torch.optim.SGD(model.parameters(), lr=common.RATE), steps)
    right = differences(model)
    if distributed.get_rank() == distributed.get_world_size() - 1:
        with torch.no_grad():
            model.module[1].up.weight[3, 5] += 1e-6
    return losses, right, differences(model)


def main():
    options = common.start(__doc__)
    losses, right, wrong = train_and_check(options.steps)
    common.report(losses, common.train_alone(options.steps))
    if distributed.get_rank() == 0:
        print(f"after training these differ: {right or 'none'}; after a change by one process: {wrong}")
    if right or len(wrong) != 1:
        raise RuntimeError("the check is wrong")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
