#!/usr/bin/env python3
"""Processes that know nothing but the library: they sum, one of them dies, the others go on.

LIBNCCL_PATH names the library. Run as `client_test.py rank N OF IDFILE` this is one rank.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import client

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from ports import free_port

RANKS = 4
PATIENCE = 120  # seconds for everything of one test


def read_id(path):
    """The id that the test wrote before it started the ranks."""
    return client.UniqueId.from_buffer_copy(pathlib.Path(path).read_bytes())


def say(*words):
    print(*words, flush=True)


def run_rank(rank, ranks, path):
    """Sums, then reads which rank is dead. The next sum must fail, and one without that rank works."""
    library = client.Library()
    comm = library.join(read_id(path), ranks, rank)
    result, sums = library.sum(comm, [rank, 1.0])
    say("sum", result, *sums)
    dead = int(sys.stdin.readline())
    if dead >= 0:
        result, _ = library.sum(comm, [1.0] * 100)
        say("failed", result, library.last_error())
        rest = client.ctypes.c_void_p()
        excluded = (client.ctypes.c_int * 1)(dead)
        library.call("ncclCommShrink", comm, excluded, 1, client.ctypes.byref(rest), None, 1)
        result, sums = library.sum(rest, [1.0])
        say("rest", result, *sums)
        library.call("ncclCommDestroy", rest)
        library.call("ncclCommAbort", comm)
    else:
        library.call("ncclCommDestroy", comm)


class Job:
    """Ranks as processes; this process serves their meeting."""

    def __init__(self, folder):
        self.library = client.Library()
        path = pathlib.Path(folder) / "id"
        path.write_bytes(bytes(self.library.unique_id()))
        self.ranks = [subprocess.Popen([sys.executable, __file__, "rank", str(rank), str(RANKS),
                                        str(path)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                      for rank in range(RANKS)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for rank in self.ranks:
            rank.kill()
            rank.communicate()

    def lines(self):
        return [rank.stdout.readline().split(maxsplit=2) for rank in self.ranks if rank.stdout]

    def tell(self, ranks, word):
        for rank in ranks:
            rank.stdin.write(word + "\n")
            rank.stdin.flush()


class Client(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        signal.alarm(PATIENCE)  # a hang is a failure, too
        self.addCleanup(signal.alarm, 0)

    def test_processes_sum(self):
        with Job(self.folder) as job:
            self.assertEqual(job.lines(), [["sum", "0", "6.0 4.0\n"]] * RANKS)
            job.tell(job.ranks, "-1")
            self.assertEqual([rank.wait() for rank in job.ranks], [0] * RANKS)

    def test_a_killed_rank_is_named_and_the_others_go_on(self):
        with Job(self.folder) as job:
            job.lines()
            killed = job.ranks.pop(2)
            survivors = job.ranks
            job.tell(survivors[:2], "2")  # two are in the call that cannot end
            killed.kill()
            killed.communicate()
            job.tell(survivors[2:], "2")
            for _, result, words in job.lines():
                self.assertEqual(int(result), client.REMOTE_ERROR)
                self.assertIn("rank 2", words)
            self.assertEqual(job.lines(), [["rest", "0", "3.0\n"]] * 3)
            self.assertEqual([rank.wait() for rank in survivors], [0] * 3)

    def test_one_process_holds_all_ranks(self):
        library = client.Library()
        comms = (client.ctypes.c_void_p * 2)()
        library.call("ncclCommInitAll", comms, 2, None)
        values = [(client.ctypes.c_float * 1)(1), (client.ctypes.c_float * 1)(2)]
        library.call("ncclGroupStart")
        for comm, value in zip(comms, values):
            library.call("ncclAllReduce", value, value, client.ctypes.c_size_t(1), client.FLOAT,
                         client.SUM, client.ctypes.c_void_p(comm), None)
        library.call("ncclGroupEnd")
        self.assertEqual([value[0] for value in values], [3, 3])
        for comm in comms:
            library.call("ncclCommDestroy", client.ctypes.c_void_p(comm))

    def test_what_nccl_has_not(self):
        library = client.Library()
        ranks = 3
        comms = (client.ctypes.c_void_p * ranks)()
        library.call("ncclCommInitAll", comms, ranks, None)
        handles = [client.ctypes.c_void_p(comm) for comm in comms]
        either = [client.ctypes.c_int() for _ in handles]
        for comm, op in zip(handles, either):
            library.call("rondoCommSetTimeout", comm, 60000)
            library.call("rondoRedOpCreateBitwise", client.ctypes.byref(op), client.BIT_OR, comm)
        counts = (client.ctypes.c_size_t * ranks)(2, 0, 1)
        blocks = [(client.ctypes.c_int * count)(*[rank] * count)
                  for rank, count in enumerate(counts)]
        gathered = [(client.ctypes.c_int * 3)() for _ in handles]
        bits = [client.ctypes.c_int(1 << rank) for rank in range(ranks)]
        library.call("ncclGroupStart")
        for comm, op, block, blocks_of_all, mine in zip(handles, either, blocks, gathered, bits):
            library.call("rondoAllGatherv", block, blocks_of_all, counts, client.INT, comm, None)
            library.call("ncclAllReduce", client.ctypes.byref(mine), client.ctypes.byref(mine),
                         client.ctypes.c_size_t(1), client.INT, op, comm, None)
        library.call("ncclGroupEnd")
        self.assertEqual([list(each) for each in gathered], [[0, 0, 2]] * ranks)
        self.assertEqual([mine.value for mine in bits], [7] * ranks)
        for comm in handles:
            library.call("ncclCommDestroy", comm)

    def test_variables_that_cannot_be_honoured_are_one_warning(self):
        code = ("import client; l = client.Library(); l.unique_id(); l.unique_id(); "
                "l.join(l.unique_id(), 1, 0)")
        environment = dict(os.environ, NCCL_CUMEM_HOST_ENABLE="1", NCCL_PROTO="LL", NCCL_DEBUG="WARN")
        run = subprocess.run([sys.executable, "-c", code], env=environment, text=True,
                             cwd=pathlib.Path(__file__).parent, stderr=subprocess.PIPE, check=True)
        self.assertEqual(run.stderr.count("NCCL_CUMEM_HOST_ENABLE, NCCL_PROTO"), 1, run.stderr)
        self.assertEqual(run.stderr.count("WARN"), 1, run.stderr)

    def test_ranks_meet_at_a_given_place(self):
        code = ("import client, sys; l = client.Library(); r = int(sys.argv[1]);"
                "c = l.join(l.unique_id(), 2, r); print(l.sum(c, [r + 1.0]));"
                "l.call('ncclCommDestroy', c)")
        environment = dict(os.environ, NCCL_COMM_ID=f"127.0.0.1:{free_port()}")
        ranks = [subprocess.Popen([sys.executable, "-c", code, str(rank)], env=environment,
                                  cwd=pathlib.Path(__file__).parent, stdout=subprocess.PIPE,
                                  text=True) for rank in range(2)]
        self.assertEqual([rank.communicate()[0] for rank in ranks], ["(0, [3.0])\n"] * 2)


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        run_rank(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        unittest.main()
