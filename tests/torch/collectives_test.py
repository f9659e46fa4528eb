"""Every method with every type of element, against values computed without communication."""

import torch
import torch.distributed as distributed
from torch.distributed import ReduceOp

import job
from job import equal, fails, rank, ranks

NUMBERS = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8,
           torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64]
EIGHT_BITS = [torch.float8_e4m3fn, torch.float8_e5m2]
MOVED = NUMBERS + EIGHT_BITS + [torch.bool, torch.complex64, torch.complex128]


def lengths(dtype):
    """Lengths for every way of moving data, for one type. The others get one that is no round number."""
    return [1, 8, 1000, 70_001] if dtype == torch.float32 else [777]


def of_rank(owner, length, dtype):
    """Small integers, different on each rank: exact in every type."""
    values = (torch.arange(length, dtype=torch.int64) * (owner + 1) + owner) % 4
    return (values % 2 == 1) if dtype == torch.bool else values.to(torch.float32).to(dtype)


def stack(length, dtype):
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    return torch.stack([of_rank(owner, length, dtype).to(torch.float32).to(wide)
                        for owner in range(ranks())])


def reduced(op, length, dtype):
    every = stack(length, dtype)
    result = {ReduceOp.SUM: lambda: every.sum(0), ReduceOp.PRODUCT: lambda: every.prod(0),
              ReduceOp.MIN: lambda: every.min(0).values, ReduceOp.MAX: lambda: every.max(0).values,
              ReduceOp.AVG: lambda: average(every, dtype)}[op]()
    return result.to(torch.float32).to(dtype)


def average(every, dtype):
    if dtype.is_floating_point:
        return every.mean(0)
    return every.sum(0) // ranks()


def test_all_reduce():
    for dtype in NUMBERS + EIGHT_BITS:
        for op in [ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.AVG]:
            for length in lengths(dtype):
                if op == ReduceOp.PRODUCT and dtype in (torch.int8, *EIGHT_BITS):
                    continue  # 81 at most, but not in 8 bits of float
                tensor = of_rank(rank(), length, dtype)
                distributed.all_reduce(tensor, op)
                rough = 0.5 if dtype in EIGHT_BITS and op == ReduceOp.AVG else 0
                wanted = reduced(op, length, dtype)
                equal(tensor, wanted, rough or 1e-2 * (op == ReduceOp.AVG), f"{dtype} {op} {length}")


def test_all_reduce_of_booleans():
    every = torch.stack([of_rank(owner, 100, torch.bool) for owner in range(ranks())])
    wanted = {ReduceOp.SUM: every.any(0), ReduceOp.MAX: every.any(0), ReduceOp.BOR: every.any(0),
              ReduceOp.PRODUCT: every.all(0), ReduceOp.MIN: every.all(0), ReduceOp.BAND: every.all(0),
              ReduceOp.BXOR: every.sum(0) % 2 == 1}
    for op, expected in wanted.items():
        tensor = of_rank(rank(), 100, torch.bool)
        distributed.all_reduce(tensor, op)
        equal(tensor, expected, what=str(op))
    fails(lambda: distributed.all_reduce(torch.ones(2, dtype=torch.bool), ReduceOp.AVG), "booleans")


def test_bitwise_operators():
    for dtype in [torch.int8, torch.uint8, torch.int32, torch.int64]:
        every = [torch.arange(50).to(dtype) * (owner + 3) for owner in range(ranks())]
        for op, combine in [(ReduceOp.BAND, torch.bitwise_and), (ReduceOp.BOR, torch.bitwise_or),
                            (ReduceOp.BXOR, torch.bitwise_xor)]:
            expected = every[0]
            for other in every[1:]:
                expected = combine(expected, other)
            tensor = every[rank()].clone()
            distributed.all_reduce(tensor, op)
            equal(tensor, expected, what=f"{dtype} {op}")
            tensor = every[rank()].clone()
            distributed.reduce(tensor, 0, op)
            equal(tensor, expected if rank() == 0 else every[rank()], what=f"reduce {dtype} {op}")
            part = torch.empty(50, dtype=dtype)
            distributed.reduce_scatter_tensor(part, every[rank()].repeat(ranks()), op)
            equal(part, expected, what=f"reduce_scatter {dtype} {op}")
            own = torch.empty(rank() + 1, dtype=dtype)
            ragged = [every[rank()][:owner + 1].clone() for owner in range(ranks())]
            distributed.reduce_scatter(own, ragged, op)
            equal(own, expected[:rank() + 1], what=f"reduce_scatter of unequal lengths {dtype} {op}")
    fails(lambda: distributed.all_reduce(torch.ones(2), ReduceOp.BAND), "integers")


def test_factors():
    premul = distributed._make_nccl_premul_sum
    for dtype in [torch.float32, torch.float64, torch.float16, torch.bfloat16]:
        for factor in [0.5, torch.tensor([0.25], dtype=dtype)]:
            scale = float(factor)
            expected = (stack(100, dtype) * scale).sum(0).to(dtype)
            tensor = of_rank(rank(), 100, dtype)
            distributed.all_reduce(tensor, premul(factor))
            equal(tensor, expected, what=f"all_reduce {dtype} {scale}")
            whole, part = of_rank(rank(), 100 * ranks(), dtype), torch.empty(100, dtype=dtype)
            distributed.reduce_scatter_tensor(part, whole, premul(factor))
            every = (stack(100 * ranks(), dtype) * scale).sum(0).to(dtype)
            equal(part, every[rank() * 100:rank() * 100 + 100], what=f"reduce_scatter {dtype}")
            equal(whole, of_rank(rank(), 100 * ranks(), dtype), what="the input stays")


def test_complex_sums():
    for dtype in [torch.complex64, torch.complex128]:
        tensor = torch.full((10,), complex(rank(), 1), dtype=dtype)
        distributed.all_reduce(tensor)
        equal(tensor, torch.full((10,), complex(sum(range(ranks())), ranks()), dtype=dtype))
        fails(lambda: distributed.all_reduce(torch.ones(2, dtype=dtype), ReduceOp.MAX), "")


def test_broadcast():
    for dtype in MOVED:
        for root in range(ranks()):
            tensor = of_rank(rank(), 333, dtype)
            distributed.broadcast(tensor, root)
            equal(tensor, of_rank(root, 333, dtype), what=f"{dtype} from {root}")


def test_reduce():
    for dtype in NUMBERS:
        for root in range(ranks()):
            tensor = of_rank(rank(), 333, dtype)
            distributed.reduce(tensor, root)
            expected = reduced(ReduceOp.SUM, 333, dtype) if rank() == root else of_rank(rank(), 333, dtype)
            equal(tensor, expected, what=f"{dtype} to {root}")


def test_all_gather():
    for dtype in MOVED:
        for length in lengths(dtype):
            mine, whole = of_rank(rank(), length, dtype), torch.empty(length * ranks(), dtype=dtype)
            every = [of_rank(owner, length, dtype) for owner in range(ranks())]
            apart = [torch.empty(length, dtype=dtype) for _ in range(ranks())]
            distributed.all_gather(apart, mine)
            for owner in range(ranks()):
                equal(apart[owner], every[owner], what=f"list {dtype} {length}")
            distributed.all_gather_into_tensor(whole, mine)
            equal(whole, torch.cat([e.view(torch.uint8) for e in every]).view(dtype))
            joined = list(torch.zeros(length * ranks(), dtype=dtype).chunk(ranks()))
            distributed.all_gather(joined, mine)
            equal(joined[-1], every[-1], what="a list of one piece of memory")


def test_all_gather_of_unequal_lengths():
    lists = [torch.empty(owner * 5 + 1) for owner in range(ranks())]
    distributed.all_gather(lists, torch.full((rank() * 5 + 1,), float(rank())))
    for owner in range(ranks()):
        equal(lists[owner], torch.full((owner * 5 + 1,), float(owner)))


def test_reduce_scatter():
    for dtype in NUMBERS:
        for op in [ReduceOp.SUM, ReduceOp.AVG, ReduceOp.MAX]:
            for length in lengths(dtype):
                whole, part = of_rank(rank(), length * ranks(), dtype), torch.empty(length, dtype=dtype)
                wanted = reduced(op, length * ranks(), dtype)[rank() * length:][:length]
                distributed.reduce_scatter_tensor(part, whole, op)
                equal(part, wanted, 1e-2 * (op == ReduceOp.AVG), f"{dtype} {op} {length}")
                part.zero_()
                apart = [piece.clone() for piece in whole.split(length)]
                distributed.reduce_scatter(part, apart, op)
                equal(part, wanted, 1e-2 * (op == ReduceOp.AVG), f"list {dtype} {op} {length}")
    part = torch.empty(rank() + 1)
    distributed.reduce_scatter(part, [torch.full((owner + 1,), 2.0) for owner in range(ranks())])
    equal(part, torch.full((rank() + 1,), 2.0 * ranks()), what="unequal lengths")


def test_gather_and_scatter():
    for dtype in MOVED:
        for root in range(ranks()):
            every = [of_rank(owner, 50, dtype) for owner in range(ranks())]
            lists = [torch.empty(50, dtype=dtype) for _ in range(ranks())] if rank() == root else None
            distributed.gather(every[rank()], lists, dst=root)
            for owner in range(ranks()) if rank() == root else []:
                equal(lists[owner], every[owner], what=f"gather {dtype}")
            mine = torch.empty(50, dtype=dtype)
            distributed.scatter(mine, every if rank() == root else None, src=root)
            equal(mine, every[rank()], what=f"scatter {dtype}")


def test_all_to_all():
    for dtype in MOVED:
        sent = torch.cat([of_rank(rank() * ranks() + to, 20, dtype) for to in range(ranks())])
        wanted = torch.cat([of_rank(source * ranks() + rank(), 20, dtype) for source in range(ranks())])
        received = torch.empty(20 * ranks(), dtype=dtype)
        distributed.all_to_all_single(received, sent)
        equal(received, wanted, what=f"{dtype}")
        apart = [torch.empty(20, dtype=dtype) for _ in range(ranks())]
        distributed.all_to_all(apart, list(sent.split(20)))
        equal(torch.cat([a.view(torch.uint8) for a in apart]).view(dtype), wanted, what=f"list {dtype}")


def test_all_to_all_of_unequal_lengths():
    rows = [source + to + 1 for source in range(ranks()) for to in range(ranks())]
    given = rows[rank() * ranks():][:ranks()]
    taken = rows[rank()::ranks()]
    received = torch.empty(sum(taken), 3)
    distributed.all_to_all_single(received, torch.full((sum(given), 3), float(rank())), taken, given)
    wanted = torch.cat([torch.full((n, 3), float(source)) for source, n in enumerate(taken)])
    equal(received, wanted)


def test_empty_tensors():
    distributed.all_reduce(torch.empty(0))
    distributed.broadcast(torch.empty(0, 3), 0)
    distributed.all_gather_into_tensor(torch.empty(0), torch.empty(0))


def test_objects():
    every = [None] * ranks()
    distributed.all_gather_object(every, {"rank": rank()})
    assert every == [{"rank": owner} for owner in range(ranks())], every
    objects = [("from", 0), None] if rank() == 0 else [None, None]
    distributed.broadcast_object_list(objects, 0)
    assert objects == [("from", 0), None], objects


if __name__ == "__main__":
    job.run(globals())
