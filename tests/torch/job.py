"""Shared by the tests of the backend: a job of ranks, and comparisons of results.

A test program is started by a launcher (torchrun, rondorun) once for each rank.
"""

import datetime
import inspect
import os
import sys
import time
import traceback

import torch
import torch.distributed as distributed


def rank():
    return distributed.get_rank()


def ranks():
    return distributed.get_world_size()


def equal(actual, expected, tolerance=0.0, what=""):
    """Compares every element, the shape and the type."""
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, wanted {expected.shape}"
    assert actual.dtype == expected.dtype, f"{what}: type {actual.dtype}, wanted {expected.dtype}"
    a, e = as_numbers(actual), as_numbers(expected)
    worst = (a - e).abs().max().item() if a.numel() else 0
    assert worst <= tolerance, f"{what}: differs by {worst}: {a.flatten()[:4]}, wanted {e.flatten()[:4]}"


def as_numbers(tensor):
    if tensor.is_complex():
        return torch.view_as_real(tensor).to(torch.float64)
    return tensor.to(torch.float64)


def fails(call, *words, error=Exception):
    """The call must raise an error with all the words. Returns its text."""
    begin = time.monotonic()
    try:
        call()
    except error as raised:
        text = str(raised)
        for word in words:
            assert word in text, f"no '{word}' in: {text}"
        return text
    raise AssertionError(f"no error with {words} after {time.monotonic() - begin:.1f} s")


def start(timeout=300):
    distributed.init_process_group("rondo", timeout=datetime.timedelta(seconds=timeout))


def store():
    """A store of the job's own, in which several process groups can meet one after the other."""
    return distributed.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), ranks_in_job(),
                                is_master=rank_in_job() == 0)


def own_store():
    """The store in which the default process group met."""
    return distributed.distributed_c10d._get_default_store()


def leave_together(store, name, rank, ranks):
    """Returns when all ranks have come here. On rank 0, which serves the store, it returns when the others
    no longer need the store."""
    for stage in ("comes", "leaves"):
        store.set(f"{name}: {rank} {stage}", "yes")
        if stage == "comes" or rank == 0:
            store.wait([f"{name}: {other} {stage}" for other in range(ranks)])


def rank_in_job():
    return int(os.environ["RANK"])


def ranks_in_job():
    return int(os.environ["WORLD_SIZE"])


def chosen(tests):
    """(name, function) of a module's test_* in order; only those that the command line names, if any."""
    names = sys.argv[1:]
    return [(name, test) for name, test in sorted(tests.items())
            if name.startswith("test_") and inspect.isfunction(test) and (not names or name in names)]


def end_at_failure(test, name):
    """Runs a test and returns its result. Ends the process when the test fails."""
    begin = time.monotonic()
    try:
        result = test()
    except Exception:
        print(f"rank {rank()}: {name} failed", flush=True)
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # the other ranks are waiting: this end tells them soon
    if rank() == 0:
        print(f"passed: {name}, {time.monotonic() - begin:.1f} s", flush=True)
    return result


def run(tests, timeout=300):
    """Runs test_* of a module's namespace in order; ends the job at the first that fails."""
    start(timeout)
    for name, test in chosen(tests):
        end_at_failure(test, name)
    distributed.destroy_process_group()
