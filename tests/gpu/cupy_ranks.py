"""One rank of CuPy, unchanged, whose NCCL is rondo's: every call of cupy.cuda.nccl.

    rondorun -n N --nccl --share-gpu python tests/gpu/cupy_ranks.py FILE

Rank 0 writes the unique id into FILE, and the other ranks read it. Every element is checked. The
program also checks that linked calls go to rondo's NCCL.
"""

import json
import os
import pathlib
import pickle
import sys
import time

import cupy
import numpy
from cupy.cuda import nccl

from swapped import activation

COUNTS = (1, 1000, 300_007)
TYPES = (("float32", nccl.NCCL_FLOAT32), ("float16", nccl.NCCL_FLOAT16), ("int64", nccl.NCCL_INT64),
         ("float64", nccl.NCCL_FLOAT64), ("uint8", nccl.NCCL_UINT8))
PATIENCE = 60  # seconds


def numbers(rank, count, kind):
    """Numbers that differ by rank and place, small enough that every type has the sums of eight. They are
    made on the host, so that CuPy need not compile kernels for it."""
    return ((numpy.arange(count) * 3 + rank) % 11).astype(kind)


def equal(what, got, wanted):
    here = got.get()
    if not (here == wanted).all():
        raise RuntimeError(f"{what}, {here.dtype}, {here.size} elements: {here[:4]}..., not "
                           f"{wanted[:4]}...")


def meet(rank, path):
    """The identifier that rank 0 makes: numbers or bytes, as CuPy has it."""
    if rank == 0:
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(pickle.dumps(nccl.get_unique_id()))
        unfinished.rename(path)
    end = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"rank 0 has not written {path}")
        time.sleep(0.01)
    return pickle.loads(path.read_bytes())


class Rank:
    """A communicator, a stream, and the calls on arrays."""

    def __init__(self, comm, rank, ranks):
        self.comm, self.rank, self.ranks = comm, rank, ranks
        self.stream = cupy.cuda.Stream(non_blocking=True)

    def call(self, name, *arguments):
        getattr(self.comm, name)(*(each.data.ptr if isinstance(each, cupy.ndarray) else each
                                   for each in arguments), self.stream.ptr)

    def finish(self, what, got, wanted):
        self.stream.synchronize()
        self.comm.check_async_error()
        equal(what, got, wanted)

    def check(self, kind, number, count):
        every = [numbers(each, count, kind) for each in range(self.ranks)]
        parts = cupy.asarray(numpy.concatenate([numbers(10 * each + self.rank, count, kind)
                                                for each in range(self.ranks)]))
        sums = sum(numbers(10 * self.rank + each, count, kind) for each in range(self.ranks))
        mine, root, next_one = cupy.asarray(every[self.rank]), self.ranks - 1, (self.rank + 1) % self.ranks
        before, total = (self.rank - 1) % self.ranks, sum(every)
        out = cupy.asarray(numpy.zeros(count, kind))
        large = cupy.asarray(numpy.zeros(self.ranks * count, kind))
        cupy.cuda.Device().synchronize()  # what made these is in another stream
        self.call("allReduce", mine, out, count, number, nccl.NCCL_SUM)
        self.finish("allReduce", out, total)
        self.call("reduce", mine, out, count, number, nccl.NCCL_MAX, 0)
        self.finish("reduce", out, numpy.stack(every).max(axis=0) if self.rank == 0 else total)
        self.call("broadcast", mine, out, count, number, root)
        self.finish("broadcast", out, every[root])
        self.call("reduceScatter", parts, out, count, number, nccl.NCCL_SUM)
        self.finish("reduceScatter", out, sums)
        self.call("allGather", mine, large, count, number)
        self.finish("allGather", large, numpy.concatenate(every))
        nccl.groupStart()
        self.call("send", mine, count, number, next_one)
        self.call("recv", out, count, number, before)
        nccl.groupEnd()
        self.finish("send and recv", out, every[before])
        self.call("bcast", mine, count, number, 0)
        self.finish("bcast", mine, every[0])


def check_init_all():
    """One thread runs all ranks of one GPU."""
    comms = nccl.NcclCommunicator.initAll([0, 0])
    made = [numbers(rank, 1000, "float32") for rank in range(2)]
    arrays = [cupy.asarray(each) for each in made]
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    nccl.groupStart()
    for comm, each in zip(comms, arrays):
        comm.allReduce(each.data.ptr, each.data.ptr, 1000, nccl.NCCL_FLOAT32, nccl.NCCL_SUM,
                       stream.ptr)
    nccl.groupEnd()
    stream.synchronize()
    for each in arrays:
        equal("allReduce of initAll", each, made[0] + made[1])
    for comm in comms:
        comm.destroy()


def main():
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    active, path = activation(), pathlib.Path(sys.argv[1])
    active.check()
    cupy.cuda.Device(0).use()
    comm = nccl.NcclCommunicator(ranks, meet(rank, path), rank)
    if (comm.rank_id(), comm.size(), comm.device_id()) != (rank, ranks, 0):
        raise RuntimeError(f"{comm.rank_id()} of {comm.size()} on {comm.device_id()}")
    member = Rank(comm, rank, ranks)
    for kind, number in TYPES:
        for count in COUNTS:
            member.check(kind, number, count)
    comm.destroy()
    if rank == 0:
        check_init_all()
    aborted = nccl.NcclCommunicator(ranks, meet(rank, path.with_name("second")), rank)
    aborted.abort()
    active.check()
    if rank == 0:
        print(json.dumps({"kind": "cupy", "cupy": cupy.__version__, "ranks": ranks,
                          "mapped": active.mapped(), "version": nccl.get_version(),
                          "built_for": nccl.get_build_version()}), flush=True)


if __name__ == "__main__":
    main()
