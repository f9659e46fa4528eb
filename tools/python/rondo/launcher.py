"""init_method="rondo://": a process finds its place whichever launcher started it.

torch.distributed's own "env://" needs RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which only
torchrun sets. rondo knows what rondorun, mpirun (Open MPI's and MPICH's) and srun set, too.
"""

import os


def set_torchrun_variables():
    """Says in torchrun's words what another launcher said in its own. Alone: one process of one."""
    from rondo import _C
    place = _C.placement()
    for name, value in (("RANK", place["rank"]), ("WORLD_SIZE", place["ranks"]),
                        ("LOCAL_RANK", place["local_rank"]), ("LOCAL_WORLD_SIZE", place["local_ranks"]),
                        ("MASTER_ADDR", place["address"] or "127.0.0.1"), ("MASTER_PORT", place["port"])):
        os.environ.setdefault(name, str(value))


def meet(url, **settings):
    """What torch calls: yields the store, the rank and the number of ranks."""
    from torch.distributed import rendezvous
    set_torchrun_variables()
    query = url.partition("?")[2]
    yield from rendezvous("env://" + ("?" + query if query else ""), **settings)
