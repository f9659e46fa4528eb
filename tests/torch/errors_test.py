"""Every mistake is an error on every rank, in time. Each has a process group of its own."""

import time

import torch
import torch.distributed as distributed
import torch.nn as nn

import job
from job import equal, fails, rank, ranks

LIMIT = 300  # seconds, also of the groups: mistakes are found by themselves, not by a timeout


def in_own_group(call, *words, lasts=True):
    """`call(group)` must fail on every rank, with these words, in time; so must later calls."""
    group = distributed.new_group(list(range(ranks())), timeout=job.datetime.timedelta(seconds=LIMIT))
    begin = time.monotonic()
    text = fails(lambda: call(group), *words)
    assert time.monotonic() - begin < LIMIT, f"only after {time.monotonic() - begin:.1f} s: {text}"
    if lasts:
        fails(lambda: distributed.all_reduce(torch.ones(1), group=group))
    return text


def odd(one, other):
    return one if rank() == ranks() - 1 else other


def test_different_shapes():
    text = in_own_group(lambda group: distributed.all_reduce(torch.ones(odd(10, 20)), group=group),
                        "rank", "all_reduce", "10", "20")
    assert "process group" in text, text


def test_different_shapes_of_async_calls():
    def call(group):
        distributed.all_gather_into_tensor(torch.empty(odd(5, 6) * ranks()), torch.ones(odd(5, 6)),
                                           group=group, async_op=True).wait()
    in_own_group(call, "all_gather")


def test_different_sizes_of_as_many_elements():
    def call(group):
        distributed.all_reduce_coalesced([torch.ones(odd(10, 20)), torch.ones(odd(20, 10))], group=group)
    in_own_group(call, "all_reduce_coalesced", f"rank {ranks() - 1}", "sizes", lasts=False)


def test_futures_carry_errors():
    def call(group):
        work = distributed.all_reduce(torch.ones(odd(10, 20)), group=group, async_op=True)
        work.get_future().wait()
    in_own_group(call, "all_reduce")


def test_different_types():
    in_own_group(lambda group: distributed.all_reduce(
        torch.ones(10, dtype=odd(torch.float32, torch.float64)), group=group), "float32", "float64")


def test_different_operators():
    operators = distributed.ReduceOp
    in_own_group(lambda group: distributed.all_reduce(
        torch.ones(10), odd(operators.SUM, operators.MAX), group=group), "sum", "max")


def test_different_roots():
    def call(group):
        distributed.broadcast(torch.ones(10), odd(0, 1), group=group)
        distributed.barrier(group=group)  # a root that only sends gets the error here
    in_own_group(call, "broadcast", "root")


def test_different_order():
    def call(group):
        tensor, whole = torch.ones(10), torch.ones(10 * ranks())
        calls = [lambda: distributed.all_reduce(tensor, group=group),
                 lambda: distributed.all_gather_into_tensor(whole, tensor, group=group)]
        for one in odd(calls, calls[::-1]):
            one()
    in_own_group(call, "all_reduce", "all_gather")


def test_a_rank_that_does_not_come():
    distributed.barrier()   # the timeout also limits how late a rank may come to the group
    group = distributed.new_group(list(range(ranks())), timeout=job.datetime.timedelta(seconds=6))
    begin = time.monotonic()
    if rank() == 0:
        fails(lambda: distributed.all_reduce(torch.ones(10), group=group), "rank")
        assert time.monotonic() - begin < LIMIT
    distributed.barrier()


def test_a_wait_with_a_limit():
    group = distributed.new_group(list(range(ranks())))
    if rank() == 0:
        work = distributed.all_reduce(torch.ones(10), group=group, async_op=True)
        fails(lambda: work.wait(job.datetime.timedelta(seconds=0.5)), "500 ms", "aborted")
    distributed.barrier()


def test_monitored_barrier_names_who_is_missing():
    """Rank 0 names the first rank that is late, so it comes after the others."""
    group, store = distributed.new_group(list(range(ranks()))), job.own_store()
    if rank() == 0:
        store.wait([f"monitored: {other}" for other in range(1, ranks() - 1)])
    if rank() != ranks() - 1:
        store.set(f"monitored: {rank()}", "comes")
        limit = job.datetime.timedelta(seconds=5 if rank() == 0 else LIMIT)
        fails(lambda: distributed.monitored_barrier(group, timeout=limit), f"rank {ranks() - 1}")
    distributed.barrier()


def test_abort():
    group = distributed.new_group(list(range(ranks())))
    if rank() == 0:
        group._get_backend(torch.device("cpu")).abort()
    fails(lambda: distributed.all_reduce(torch.ones(10), group=group), "abort")


def test_tensors_that_cannot_be_sent():
    wide = torch.ones(4, 6)
    for tensor in [wide.t(), wide[:, ::2]]:
        for call in [distributed.all_reduce, lambda t: distributed.broadcast(t, 0)]:
            fails(lambda: call(tensor), "not contiguous", "Try:")
    fails(lambda: distributed.all_reduce(wide.to_sparse()), "parse")
    fails(lambda: distributed.broadcast(wide.to_sparse(), 0), "parse")  # torch itself
    fails(lambda: distributed.all_gather_into_tensor(torch.ones(5), torch.ones(5)), "5 and 5")
    fails(lambda: distributed.reduce_scatter_tensor(torch.ones(5), torch.ones(4)), "elements")
    fails(lambda: distributed.all_to_all_single(torch.ones(ranks() + 1), torch.ones(ranks() + 1)),
          "blocks")
    # torch itself ends most calls on this device, as there is nothing to do. This one reaches the backend.
    elsewhere = [torch.empty(3, device="meta") for _ in range(ranks())]
    fails(lambda: distributed.all_gather(elsewhere, torch.ones(3)), "a tensor on meta", "Try:")
    tensor = torch.ones(3)
    distributed.all_reduce(tensor)  # the group is still usable
    equal(tensor, torch.full((3,), float(ranks())))


def test_zz_death_in_backward():
    """The last test: the last rank dies, and the others get an error."""
    class Dies(torch.autograd.Function):
        @staticmethod
        def forward(context, value):
            return value

        @staticmethod
        def backward(context, gradient):
            if rank() == ranks() - 1:
                job.os._exit(7)
            return gradient

    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(50, 500), nn.Linear(500, 5)))
    begin = time.monotonic()

    def step():
        for _ in range(3):
            Dies.apply(model(torch.randn(8, 50))).sum().backward()

    fails(step, f"rank {ranks() - 1} ")
    assert time.monotonic() - begin < LIMIT
    # Not before all have their error: a rank that leaves earlier would also count as dead.
    job.leave_together(job.own_store(), "told", rank(), ranks() - 1)
    job.os._exit(0)  # without leaving the group: a process must be able to end like this, too


if __name__ == "__main__":
    job.run(globals(), timeout=LIMIT)
