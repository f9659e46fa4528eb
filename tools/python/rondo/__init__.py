"""rondo: collective communication between processes, for numpy arrays and torch tensors on the CPU.

    import numpy, rondo

    world = rondo.from_environment()          # under rondorun, torchrun, srun or mpirun; else alone
    gradients = numpy.full(1000, world.rank + 1.0)
    world.all_reduce(gradients)               # in place; every rank has the sum
    print(world.rank, gradients[0])
    world.finalize()

help(rondo.Communicator) lists every call. Errors are rondo.Error: they name the rank, the peer, the
call and a remedy.

If this package was built for PyTorch (pip install --no-build-isolation ./tools/torch),
torch.distributed.init_process_group("rondo") needs no import of rondo.
"""

from rondo._rondo import (Communicator, Error, Group, Memory, Window, Work, allocate,
                          from_environment, from_threads, from_unique_id, make_unique_id, version)

__all__ = ["Communicator", "Error", "Group", "Memory", "Window", "Work", "allocate", "empty",
           "from_environment", "from_threads", "from_unique_id", "group", "make_unique_id",
           "version"]
__version__ = version()


def group():
    """with rondo.group(): the calls in the block are issued together and complete at its end."""
    return Group()


def empty(shape, dtype="float32"):
    """A numpy array in memory from allocate(), which other ranks of this machine reach directly."""
    import numpy
    array = numpy.broadcast_to(numpy.empty((), dtype), shape)  # takes no memory; numpy refuses wrong shapes
    if array.nbytes == 0:
        return numpy.empty(shape, dtype)
    return numpy.frombuffer(allocate(array.nbytes), dtype).reshape(shape)
