"""`import rondo`: every call, every kind of array, errors in words."""

import array
import sys
import threading

import numpy

import rondo
from python_rig import RANK, RANKS, equal, fails, main, world

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
         "float32", "float64"]
BITWISE = {"bit_and": numpy.bitwise_and, "bit_or": numpy.bitwise_or, "bit_xor": numpy.bitwise_xor}


def test_the_package_stands_alone():
    assert "torch" not in sys.modules
    assert rondo.__version__ == rondo.version()
    for name in rondo.__all__:
        assert getattr(rondo, name).__doc__, f"{name} has no text"
    for name in dir(rondo.Communicator):
        assert name.startswith("_") or getattr(rondo.Communicator, name).__doc__, name
    assert repr(world) == f"<rondo.Communicator: rank {RANK} of {RANKS}>"


def test_all_reduce_of_every_type():
    for kind in TYPES:
        values = numpy.arange(10).astype(kind)
        equal(world.all_reduce(values.copy()), values * RANKS)
        output = numpy.empty_like(values)
        assert world.all_reduce(values, output, "max") is output
        equal(output, values)


def test_operators():
    ranks = numpy.arange(1, RANKS + 1)
    for op, expected in {"sum": ranks.sum(), "prod": ranks.prod(), "min": 1, "max": RANKS,
                         "avg": ranks.mean()}.items():
        equal(world.all_reduce(numpy.full(5, RANK + 1.0), op=op), numpy.full(5, expected, dtype=float))
    for kind in TYPES:
        if numpy.dtype(kind).kind not in "iu":
            continue
        every = [(numpy.arange(33) * (rank + 3)).astype(kind) for rank in range(RANKS)]
        for op, combine in BITWISE.items():
            equal(world.all_reduce(every[RANK].copy(), op=op), combine.reduce(every))
    for op, expected in {"max": [True, False], "min": [RANKS == 1, False], "bit_or": [True, False],
                         "bit_and": [RANKS == 1, False], "bit_xor": [True, False]}.items():
        equal(world.all_reduce(numpy.array([RANK == 0, False]), op=op), expected)
    equal(world.all_reduce(numpy.array([1 + 2j], dtype="complex64")), [RANKS + 2j * RANKS])


def test_scans():
    own = numpy.arange(5.0) + RANK
    every = [numpy.arange(5.0) + rank for rank in range(RANKS)]
    equal(world.scan(own), sum(every[:RANK + 1]))
    equal(world.scan_async(every[RANK].copy(), numpy.empty(5), "max").wait(), every[RANK])
    below = world.exclusive_scan(numpy.arange(5.0) + RANK, numpy.full(5, -1.0))
    equal(below, sum(every[:RANK]) if RANK > 0 else numpy.full(5, -1.0))
    fails(lambda: world.scan(numpy.ones(5), op="avg"), "avg divides by the number of all ranks", "use sum")


def test_numbers():
    values = numpy.zeros(5, dtype="float32")
    if RANK == 0:
        values[:] = 1e8
    elif RANK == RANKS - 1:
        values[:] = -1e8
    else:
        values[:] = 1
    exact = world.all_reduce(values.copy(), accumulate="float64")
    equal(exact, numpy.full(5, float(RANKS - 2 if RANKS > 1 else 1e8), dtype="float32"))
    ordered = world.all_reduce(values.copy(), reproducible=True)
    folded = numpy.float32(1e8 if RANKS > 0 else 0)
    for rank in range(1, RANKS):
        folded += numpy.float32(-1e8 if rank == RANKS - 1 else 1)
    equal(ordered, numpy.full(5, folded))
    assert "reproducible: contributions are added in rank order" in world.describe(
        "all_reduce", 5, reproducible=True)
    fails(lambda: world.all_reduce(values.copy(), accumulate="half"), "'half'", "float64")
    fails(lambda: rondo.from_threads(1, accumulate="float64"), "'float64'", "wide")
    alone = rondo.from_threads(1, reproducible=True, accumulate="wide")[0]
    assert "accumulated in float64" in alone.describe("all_reduce", 5)


def test_8_bits_a_value():
    steps = numpy.arange(1000, dtype="float32")
    own, total = steps * (RANK + 1), steps * (RANKS * (RANKS + 1) / 2)
    left_out, mean = numpy.zeros_like(own), numpy.zeros_like(own)
    for _ in range(20):
        values = own.copy()
        assert world.all_reduce_quantized(values, left_out) is values
        assert abs(values - total).max() < 0.01 * total.max()
        mean += values / 20
    assert left_out.any() and abs(mean - total).max() < 0.004 * total.max()
    every = world.all_gather(values, numpy.empty((RANKS, 1000), dtype="float32"))
    assert (every == values).all()
    for kind in ["float64", "int32", "complex64"]:
        fails(lambda kind=kind: world.all_reduce_quantized(numpy.ones(4, kind)), "not float32",
              code="invalid_argument")
    fails(lambda: world.all_reduce_quantized(own, left_out[:10].copy()), "10 numbers for 1000 values")
    fails(lambda: world.all_reduce_quantized(own[::2]), "contiguous")
    fails(lambda: world.all_reduce_quantized(own, own), "overlaps")


def test_blocks():
    whole = numpy.arange(3.0 * RANKS)
    part = world.reduce_scatter(whole, numpy.empty(3))
    equal(part, whole[3 * RANK:3 * RANK + 3] * RANKS)
    equal(world.all_gather(numpy.full((2, 2), RANK), numpy.empty((RANKS, 2, 2), dtype=int))[:, 0, 0],
          numpy.arange(RANKS))
    sent = numpy.arange(2 * RANKS) + 100 * RANK
    received = world.all_to_all(sent, numpy.empty_like(sent)).reshape(RANKS, 2)
    equal(received, [[100 * other + 2 * RANK, 100 * other + 2 * RANK + 1] for other in range(RANKS)])


def test_blocks_that_differ_in_size():
    counts = [3 * rank for rank in range(RANKS)]
    begin, end, last = sum(counts[:RANK]), sum(counts[:RANK + 1]), RANKS - 1
    wanted = numpy.repeat(numpy.arange(RANKS), counts)
    for kind in ["int64", "float32", "complex64", "U3"]:   # the last one is moved as bytes
        own = wanted[begin:end].astype(kind)
        whole = numpy.empty(sum(counts), kind)
        equal(world.all_gather_v(own, whole, counts), wanted.astype(kind))
        gathered = numpy.empty(sum(counts), kind) if RANK == last else None
        world.gather_v(own, gathered, counts, root=last)
        if RANK == last:
            equal(gathered, wanted.astype(kind))
        source = wanted.astype(kind) if RANK == 1 else None
        equal(world.scatter_v(source, numpy.empty(end - begin, kind), counts, root=1), own)
        if kind != "U3":
            work = world.reduce_scatter_v_async(whole, numpy.empty(end - begin, kind), counts)
            equal(work.wait(), own * RANKS)
    sent = [(RANK + 2 * other) % 3 for other in range(RANKS)]
    received = [(other + 2 * RANK) % 3 for other in range(RANKS)]
    values = numpy.repeat(100 * RANK + numpy.arange(RANKS), sent)
    equal(world.all_to_all_v(values, numpy.empty(sum(received), dtype=int), sent, received),
          numpy.repeat(100 * numpy.arange(RANKS) + RANK, received))


def test_roots():
    last = RANKS - 1
    equal(world.broadcast(numpy.full(4, RANK), root=last), numpy.full(4, last))
    output = numpy.zeros(4) if RANK == last else None
    world.reduce(numpy.ones(4), output, root=last)
    gathered = numpy.empty(RANKS) if RANK == 0 else None
    world.gather(numpy.array([float(RANK)]), gathered)
    source = numpy.arange(2 * RANKS) if RANK == last else None
    equal(world.scatter(source, numpy.empty(2, dtype=int), root=last), [2 * RANK, 2 * RANK + 1])
    if RANK == last:
        equal(output, numpy.full(4, float(RANKS)))
    if RANK == 0:
        equal(gathered, numpy.arange(RANKS))


def test_messages_and_groups():
    right, left = (RANK + 1) % RANKS, (RANK - 1) % RANKS
    sent, received = numpy.full(200_000, float(RANK)), numpy.empty(200_000)
    with rondo.group():
        world.send(sent, right)
        world.recv(received, left)
    equal(received, numpy.full(200_000, float(left)))
    with rondo.group():
        world.recv(received, right)
        world.send(numpy.full(200_000, -1.0), left)   # nothing else keeps this array alive
    equal(received, numpy.full(200_000, -1.0))
    group, told = rondo.group(), []

    def leave():
        fails(lambda: group.__exit__(None, None, None), "has not entered this group", code="invalid_usage")
        told.append(True)
    leave()
    with group:
        other = threading.Thread(target=leave)
        other.start()
        other.join()
    assert told == [True, True]
    world.barrier()


def test_asynchronous_calls_keep_their_arrays():
    works = [world.all_reduce_async(numpy.full(5000, float(number))) for number in range(50)]
    for number, work in enumerate(works):
        equal(work.wait(), numpy.full(5000, float(number * RANKS)))
        assert work.test()
    for _ in range(20):
        world.all_reduce_async(numpy.ones(3000))      # these are never waited for
    world.barrier()


def test_other_arrays():
    values = array.array("d", [1, 2, 3])
    world.all_reduce(values)
    assert list(values) == [RANKS, 2 * RANKS, 3 * RANKS]
    text = bytearray(b"rank 0 says this" if RANK == 0 else 16)
    assert bytes(world.broadcast(text)) == b"rank 0 says this"
    records = numpy.zeros(3, dtype=[("O", "i4"), ("b", "f8")])
    records["O"] = RANK
    equal(world.broadcast(records, root=1)["O"], [1, 1, 1])
    equal(world.all_gather(b"%d" % RANK, bytearray(RANKS)), bytearray(b"0123"[:RANKS]))


def test_shared_memory():
    shared = rondo.empty((RANKS, 1000), "float32")
    shared[:] = RANK
    before = world.traffic()["direct_bytes"]
    equal(world.all_reduce(shared), numpy.full((RANKS, 1000), sum(range(RANKS))))
    assert world.traffic()["direct_bytes"] > before
    memory = rondo.allocate(4096)
    assert len(memory) == 4096 and not any(memoryview(memory))
    assert rondo.empty(0).size == 0 and rondo.empty(numpy.int64(2)).shape == (2,)
    numpy.testing.assert_raises_regex(ValueError, "negative", rondo.empty, (-2, -3))


def test_split_and_dup():
    half = world.split(RANK % 2, key=-RANK)
    equal(half.all_reduce(numpy.array([RANK])), [sum(range(RANK % 2, RANKS, 2))])
    assert world.split(-1) is None
    with world.dup() as copy:
        copy.barrier()
    assert len(world.describe("all_reduce", 1000)) > 10
    fails(lambda: world.describe("reduce_all", 1), "reduce_all")


def test_threads():
    for checksum in False, True:
        sums, direct = [], []

        def work(part, sums=sums, direct=direct):
            with part:
                sums.append(part.all_reduce(numpy.ones(300000))[0])
                direct.append(part.traffic()["direct_bytes"] > 0)
        parts = rondo.from_threads(3, checksum=checksum)
        threads = [threading.Thread(target=work, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sums == [3, 3, 3]
        assert direct == 3 * [not checksum]  # what has a checksum goes in frames


def test_unique_id():
    name = bytearray(rondo.make_unique_id() if RANK == 0 else 128)
    other = rondo.from_unique_id(bytes(world.broadcast(name)), RANK, RANKS, transport="tcp")
    equal(other.all_reduce(numpy.ones(2)), [RANKS, RANKS])
    other.finalize()
    fails(lambda: rondo.from_unique_id(b"short", 0, 1), "5 bytes", code="invalid_argument")


def test_wrong_arguments_are_told_before_anything_is_sent():
    ones = numpy.ones((4, 6))
    fails(lambda: world.all_reduce(ones.T), "contiguous", "Try:", code="invalid_argument")
    fails(lambda: world.all_reduce([1, 2]), "'list' is no array")
    fails(lambda: world.all_reduce(b"1234"), "read-only")
    fails(lambda: world.all_reduce(ones, op="mean"), "'mean'", "avg")
    fails(lambda: world.all_reduce(ones, numpy.ones(5)), "elements", "5 and 24")
    fails(lambda: world.all_reduce(ones, numpy.ones(24, dtype="f4")), "element types")
    fails(lambda: world.all_reduce(numpy.array([True])), "booleans")
    for op in BITWISE:
        fails(lambda: world.all_reduce(ones, op=op), op, "integers", "float64", code="invalid_argument")
        fails(lambda: world.all_reduce(ones.astype("complex64"), op=op), "complex numbers have no " + op)
    fails(lambda: world.all_reduce(numpy.ones(2, dtype=">f4")), "byte order")
    for kind in [object, [("a", "i4"), ("b", object)]]:
        fails(lambda kind=kind: world.broadcast(numpy.zeros(2, kind)), "holds Python objects", "pickle")
    fails(lambda: world.all_gather(ones, numpy.ones(5)), f"for {RANKS} ranks")
    fails(lambda: world.all_to_all(numpy.ones(RANKS + 1), numpy.ones(RANKS + 1)), "blocks")
    fails(lambda: world.broadcast(ones, root=RANKS), f"rank {RANKS} as root")
    fails(lambda: world.send(ones, RANKS), str(RANKS))
    fails(lambda: world.scatter(None, numpy.ones(2), root=RANK), "input")
    fails(lambda: world.all_gather_v(ones, ones, [24] * (RANKS + 1)), f"{RANKS + 1} counts")
    fails(lambda: world.all_gather_v(ones, numpy.ones(25), [24] * RANKS), "25 elements")
    fails(lambda: world.all_to_all_v(ones, ones, [24] * RANKS, [24] * RANKS), "24 elements")
    equal(world.all_reduce(numpy.ones(2)), [RANKS, RANKS])   # the communicator is still usable


def test_disagreement_is_an_error_on_every_rank():
    part = world.dup()
    error = fails(lambda: part.all_reduce(numpy.ones(10 + (RANK == 0))), "all_reduce", "10", "11",
                  code="mismatch")
    assert error.rank == RANK and "all_reduce" in error.call
    fails(lambda: part.barrier())


def test_an_exception_ends_the_communicator_everywhere():
    part = world.dup()
    try:
        with part:
            if RANK == 0:
                raise ValueError("enough")
            fails(lambda: part.barrier(), "enough", code="aborted")
            raise ValueError("enough")
    except ValueError:
        pass


def test_a_timeout_set_by_call_holds_and_is_named():
    part = world.dup()
    if RANK == 0:
        part.set_timeout(0.3)
        fails(lambda: part.barrier(), "within 0.3 s", "raise the timeout that the program set",
              code="timeout")
    world.barrier()   # no other rank enters it before
    for wrong in (0, -1, 1e9, float("nan")):
        fails(lambda: world.set_timeout(wrong), "timeout", code="invalid_argument")
        if wrong != 0:   # 0 means the environment's
            fails(lambda: rondo.from_threads(1, timeout=wrong), "timeout", code="invalid_argument")
    world.set_timeout(seconds=300)


def refused(call):
    try:
        call()
        return False
    except rondo.Error as error:
        assert error.code == "invalid_usage" and "another thread" in str(error), error
        return True


def test_two_threads_on_one_communicator_are_told():
    part = world.dup()
    if RANK == 0:
        def wait():
            while refused(part.barrier):
                pass
        thread = threading.Thread(target=wait)
        thread.start()
        while not refused(lambda: part.describe("barrier", 0)):   # until the thread is in its call
            pass
        world.barrier()
        thread.join()
    else:
        world.barrier()
        part.barrier()
    part.finalize()


def test_torch_tensors():
    import torch
    for kind in (torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.float8_e4m3fn,
                 torch.float8_e5m2):
        tensor = torch.ones(8).to(kind)
        assert world.all_reduce(tensor) is tensor
        assert torch.equal(tensor.float(), torch.full((8,), float(RANKS)))
    assert bool(world.broadcast(torch.tensor([RANK == 1]), root=1)[0])
    shared = torch.frombuffer(rondo.allocate(4000), dtype=torch.float32)
    assert world.all_reduce(shared.fill_(1))[-1] == RANKS
    fails(lambda: world.all_reduce(torch.ones(2, 3).t()), "contiguous")
    fails(lambda: world.all_reduce(torch.ones(2, requires_grad=True)), "detach")


main(globals())
