"""Work and futures, messages, coalescing, groups, barriers, many calls."""

import gc
import pathlib

import torch
import torch.distributed as distributed
from torch.distributed.distributed_c10d import _coalescing_manager

import job
from job import equal, fails, rank, ranks


def test_async_calls_end_by_themselves():
    tensor = torch.ones(1000)
    work = distributed.all_reduce(tensor, async_op=True)
    future = work.get_future()
    result = future.then(lambda done: done.value()[0] * 2).wait()  # work.wait() is never called
    equal(result, torch.full((1000,), 2.0 * ranks()))
    assert work.is_completed() and work.is_success()
    equal(work.result()[0], torch.full((1000,), 1.0 * ranks()))
    assert work.wait() and work.wait()


def test_chained_futures_may_call():
    def again(done):
        tensor = done.value()[0]
        return distributed.all_reduce(tensor, async_op=True).get_future()
    work = distributed.all_reduce(torch.ones(10), async_op=True)
    inner = work.get_future().then(again).wait()
    equal(inner.wait()[0], torch.full((10,), float(ranks() * ranks())))


def test_tensors_live_until_the_end():
    futures = []
    for value in range(200):
        futures.append(distributed.all_reduce(torch.full((5000,), float(value)), async_op=True).get_future())
        gc.collect(0)
    for value, future in enumerate(futures):
        equal(future.wait()[0], torch.full((5000,), float(value * ranks())))


def test_large_messages_in_a_circle():
    big = 3_000_000  # far more than any channel holds
    sent, received = torch.full((big,), float(rank())), torch.empty(big)
    left, right = (rank() - 1) % ranks(), (rank() + 1) % ranks()
    works = [distributed.isend(sent, right), distributed.irecv(received, left)]
    for work in works:
        work.wait()
    equal(received, torch.full((big,), float(left)))
    for request in distributed.batch_isend_irecv([
            distributed.P2POp(distributed.isend, sent, left),
            distributed.P2POp(distributed.irecv, received, right)]):
        request.wait()
    equal(received, torch.full((big,), float(right)))


def test_a_late_message_holds_up_nothing():
    if rank() == 0:
        late = torch.empty(4)
        pending = distributed.irecv(late, 1)
    tensor = torch.ones(100)
    distributed.all_reduce(tensor, async_op=True).get_future().wait()
    if rank() == 1:
        distributed.send(torch.arange(4.0), 0)
    if rank() == 0:
        pending.wait()
        equal(late, torch.arange(4.0))
    equal(tensor, torch.full((100,), float(ranks())))


def test_outputs_may_be_leaves_of_a_graph():
    outputs = [torch.zeros(5, requires_grad=True) for _ in range(ranks())]
    with torch.no_grad():
        distributed.all_gather(outputs, torch.full((5,), float(rank()), requires_grad=True))
    equal(outputs[-1].detach(), torch.full((5,), float(ranks() - 1)))


def test_messages():
    if rank() == 0:
        for peer in range(1, ranks()):
            tensor = torch.empty(3)
            distributed.recv(tensor, peer)
            equal(tensor, torch.full((3,), float(peer)))
        fails(lambda: distributed.recv(torch.empty(3)), "any rank", "src=")
    else:
        distributed.send(torch.full((3,), float(rank())), 0)
    distributed.barrier()


def test_coalescing():
    tensors = [torch.full((n,), float(n)) for n in (1, 10, 1000)]
    with _coalescing_manager():
        for tensor in tensors:
            distributed.all_reduce(tensor)
    for tensor in tensors:
        equal(tensor, torch.full_like(tensor, float(tensor.numel() * ranks())))
    wholes = [torch.empty(4 * ranks()), torch.empty(2 * ranks())]
    with _coalescing_manager(async_ops=True) as manager:
        for whole in wholes:
            distributed.all_gather_into_tensor(whole, torch.full((whole.numel() // ranks(),), float(rank())))
    manager.wait()
    equal(wholes[0], torch.arange(float(ranks())).repeat_interleave(4))
    works = [torch.ones(5), torch.ones(6)]
    with _coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
        for tensor in works:
            distributed.broadcast(tensor.mul_(rank() + 1), 1)
    manager.wait()
    equal(works[1], torch.full((6,), 2.0))


def test_groups():
    even = distributed.new_group(list(range(0, ranks(), 2)))
    odd = distributed.new_group(list(range(1, ranks(), 2)))
    mine = odd if rank() % 2 else even
    tensor = torch.full((10,), float(rank()))
    distributed.all_reduce(tensor, group=mine)
    equal(tensor, torch.full((10,), float(sum(range(rank() % 2, ranks(), 2)))))
    distributed.destroy_process_group(mine)


def test_split_group():
    half = distributed.new_group(list(range(ranks())))
    backend = half._get_backend(torch.device("cpu"))
    assert backend.supports_splitting
    child = half.split_group(list(range(rank() % 2, ranks(), 2)))
    tensor = torch.full((3,), float(rank()))
    child.allreduce([tensor], distributed.AllreduceOptions()).wait()
    equal(tensor, torch.full((3,), float(sum(range(rank() % 2, ranks(), 2)))))
    distributed.destroy_process_group(half)


def test_barriers():
    for _ in range(5):
        distributed.barrier()
        distributed.barrier(async_op=True).wait()
        distributed.monitored_barrier()


def test_a_profiler_is_told_of_the_end():
    """Work may outlive a profiler; events that it reports later are dropped."""
    store = job.own_store()
    with torch.profiler.profile() as profiler:
        if rank() > 0:
            store.wait(["profiled"])
        work = distributed.all_reduce(torch.ones(10), async_op=True)
        if rank() == 0:
            with torch.profiler.record_function("meanwhile"):
                pass
            store.set("profiled", "others may come")
        work.wait()
    times = {event.name: event.time_range for event in profiler.events()}
    assert rank() > 0 or times["rondo:all_reduce"].end > times["meanwhile"].end, times


def test_memory_stays_flat():
    tensor = torch.ones(256)
    for _ in range(300):
        distributed.all_reduce(tensor)
        distributed.all_reduce(tensor.fill_(1), async_op=True).wait()
    before = resident()
    for _ in range(5000 if ranks() == 2 else 1000):
        distributed.all_reduce(tensor.fill_(1))
        distributed.all_reduce(tensor, async_op=True).wait()
    assert resident() - before < 4 << 20, f"{before} to {resident()} bytes"


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    job.run(globals())
