"""init_method="rondo://": a process finds its rank under any launcher.

torch.distributed's own "env://" needs RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which only
torchrun sets. rondo also reads the variables of rondorun, mpirun (Open MPI and MPICH) and srun.
"""

import os


def set_torchrun_variables():
    """Sets torchrun's variables from those of another launcher. Without one: rank 0 of 1."""
    from rondo import _C
    place = _C.placement()
    for name, value in (("RANK", place["rank"]), ("WORLD_SIZE", place["ranks"]),
                        ("LOCAL_RANK", place["local_rank"]), ("LOCAL_WORLD_SIZE", place["local_ranks"]),
                        ("MASTER_ADDR", place["address"] or "127.0.0.1"), ("MASTER_PORT", place["port"])):
        os.environ.setdefault(name, str(value))


def meet(url, **settings):
    """Called by torch. Yields the store, the rank and the number of ranks."""
    from torch.distributed import rendezvous
    set_torchrun_variables()
    query = url.partition("?")[2]
    yield from rendezvous("env://" + ("?" + query if query else ""), **settings)
