"""Ranks as children of a process that has imported torch: importing it in each takes seconds.

The parent must not have used torch's threads.
"""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import runpy
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from running import places


def _rank(variables, log, all_done, function, arguments):
    os.environ.update(variables)
    for stream in (1, 2):
        os.dup2(log, stream)
    try:
        function(*arguments)
    except BaseException:
        all_done.abort()
        raise
    # Forked children end without C++'s work at a program's end, in which rank 0 would wait for the ranks
    # that it serves. So all wait here.
    with contextlib.suppress(threading.BrokenBarrierError):
        all_done.wait(300)


def _program(path, arguments):
    sys.argv = [str(path), *map(str, arguments)]
    sys.path.insert(0, str(pathlib.Path(path).parent))
    runpy.run_path(str(path), run_name="__main__")


def _await(children, limit, patience):
    """Waits until all have ended, or `patience` seconds after one failed."""
    end = time.monotonic() + limit
    failed, living = False, children
    while living and time.monotonic() < end:
        multiprocessing.connection.wait([child.sentinel for child in living], end - time.monotonic())
        living = [child for child in living if child.exitcode is None]   # asked once: it polls
        if not failed and any(child.exitcode for child in children):
            failed, end = True, min(end, time.monotonic() + patience)


class Job:
    """Runs function(*arguments) on each rank, from now on. Output goes to the open file `log`."""

    def __init__(self, function, arguments, ranks, log):
        fork = multiprocessing.get_context("fork")
        self.all_done = fork.Barrier(ranks)   # kept alive: otherwise the next job would get its memory
        common = log.fileno(), self.all_done, function, arguments
        self.children = [fork.Process(target=_rank, args=(place, *common)) for place in places(ranks)]
        for child in self.children:
            child.start()

    def end(self, limit, patience=60):
        """The exit codes. None for ranks that had not ended after `limit` seconds, or `patience` seconds
        after a failure."""
        _await(self.children, limit, patience)
        codes = [child.exitcode for child in self.children]
        for child in self.children:
            child.kill()
            child.join()
        return codes


def run_program(path, arguments, ranks, log, limit):
    return Job(_program, (path, arguments), ranks, log).end(limit)
