"""Model parallel by hand: every process has some of the layers and sends their output to the next.

    torchrun --nproc-per-node 4 tools/torch/examples/model_parallel.py --backend rondo

First with send and recv: one process computes at a time. Then with isend and irecv and the batch in
parts: a process computes one part while another part is on its way. pipeline.py uses torch's own
schedules.
"""

import torch
import torch.distributed as distributed

import common

PARTS = 4


def received(like, peer):
    tensor = torch.empty_like(like)
    distributed.recv(tensor, peer)
    return tensor


def step_in_turn(own, x, y):
    """The gradients of one batch; its loss, on the last process."""
    rank, last = distributed.get_rank(), distributed.get_world_size() - 1
    inputs = x if rank == 0 else received(x, rank - 1).requires_grad_()
    outputs = own(inputs)
    loss = torch.zeros(())
    if rank == last:
        loss = common.loss_of(outputs, y)
        loss.backward()
    else:
        distributed.send(outputs.detach(), rank + 1)
        outputs.backward(received(outputs, rank + 1))
    if rank > 0:
        distributed.send(inputs.grad, rank - 1)
    return loss.detach()


def expected(parts, peer):
    """A tensor for each part, and the receives that fill them."""
    places = [torch.empty_like(part) for part in parts]
    return [(place, distributed.irecv(place, peer)) for place in places]


def step_in_parts(own, x, y):
    """The same, several parts under way at once."""
    rank, last = distributed.get_rank(), distributed.get_world_size() - 1
    parts, targets = x.chunk(PARTS), y.chunk(PARTS)
    activations = expected(parts, rank - 1) if rank > 0 else [(part, None) for part in parts]
    gradients = expected(parts, rank + 1) if rank < last else []
    inputs, outputs, sends, loss = [], [], [], torch.zeros(())
    for tensor, arrival in activations:
        if arrival:
            arrival.wait()
        inputs.append(tensor.requires_grad_(rank > 0))
        outputs.append(own(tensor))
        if rank < last:
            sends.append(distributed.isend(outputs[-1].detach(), rank + 1))
    for part in range(PARTS):
        if rank == last:
            part_loss = common.loss_of(outputs[part], targets[part]) / PARTS
            part_loss.backward()
            loss += part_loss.detach()
        else:
            gradients[part][1].wait()
            outputs[part].backward(gradients[part][0])
        if rank > 0:
            sends.append(distributed.isend(inputs[part].grad, rank - 1))
    for send in sends:
        send.wait()
    return loss


def train(steps, one_step):
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    whole = common.network()
    own = whole[len(whole) * rank // ranks:len(whole) * (rank + 1) // ranks]
    optimizer = torch.optim.SGD(own.parameters(), lr=common.RATE)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = one_step(own, *common.batch(step))
        optimizer.step()
        distributed.broadcast(loss, ranks - 1)
        losses.append(loss.item())
    return losses


def main():
    options = common.start(__doc__)
    alone = common.train_alone(options.steps)
    for one_step in (step_in_turn, step_in_parts):
        common.report(train(options.steps, one_step), alone)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
