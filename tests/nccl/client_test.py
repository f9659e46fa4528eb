#!/usr/bin/env python3
"""Processes that know nothing but the library: they sum, one of them dies, the others go on.

LIBNCCL_PATH names the library. client.start_ranks() starts this script for each rank.
"""

import pathlib
import sys
import unittest

import client
from ports import free_port
from running import Running, end_all

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]
RANKS = 4


def say(*words):
    print(*words, flush=True)


def run_rank(rank, ranks, made):
    """Sums, then reads which rank is dead. The next sum must fail, and one without that rank works."""
    library, comm = client.joined(rank, ranks, made)
    result, sums = library.sum(comm, [float(rank), 1.0])
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


class Client(unittest.TestCase):
    def start(self):
        """Ranks that have summed, and wait for a line."""
        ranks = client.start_ranks(RANKS, __file__)
        for rank in ranks:
            self.addCleanup(rank.kill)
            rank.wait_for("sum 0 6.0 4.0\n")
        return ranks

    def test_processes_sum(self):
        ranks = self.start()
        for rank in ranks:
            rank.tell("-1")
        self.assertEqual([status for status, _ in end_all(ranks)], [0] * RANKS)

    def test_a_killed_rank_is_named_and_the_others_go_on(self):
        ranks = self.start()
        killed = ranks.pop(2)
        for rank in ranks[:2]:  # two are in the call that cannot end
            rank.tell("2")
        killed.kill()
        ranks[2].tell("2")
        for status, text in end_all(ranks):
            self.assertEqual(status, 0, text)
            self.assertRegex(text, rf"(?s)failed {client.REMOTE_ERROR} .*rank 2.*\nrest 0 3.0\n")

    def test_a_schedule_that_somebody_wrote_carries_the_calls(self):
        ranks = client.start_ranks(RANKS, __file__, RONDO_DEBUG="INFO",
                                   RONDO_SCHEDULES=ROOT / "tools/examples/schedules/ring.schedule")
        for rank in ranks:
            rank.wait_for("sum 0 6.0 4.0\n")
            rank.tell("-1")
        ended = end_all(ranks)
        self.assertEqual([status for status, _ in ended], [0] * RANKS)
        self.assertIn("all_reduce of 2 x float32: my_ring over shm (written in", "".join(
            text for _, text in ended))

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
        said = Running(sys.executable, "-c", code, cwd=FOLDER, NCCL_CUMEM_HOST_ENABLE="1", NCCL_PROTO="LL",
                       NCCL_DEBUG="WARN").require_success()
        self.assertEqual(said.count("NCCL_CUMEM_HOST_ENABLE, NCCL_PROTO"), 1, said)
        self.assertEqual(said.count("WARN"), 1, said)

    def test_ranks_meet_at_a_given_place(self):
        code = ("import client, sys; l = client.Library(); r = int(sys.argv[1]);"
                "c = l.join(l.unique_id(), 2, r); print(l.sum(c, [r + 1.0]));"
                "l.call('ncclCommDestroy', c)")
        place = f"127.0.0.1:{free_port()}"
        ranks = [Running(sys.executable, "-c", code, rank, cwd=FOLDER, NCCL_COMM_ID=place)
                 for rank in range(2)]
        self.assertEqual(end_all(ranks), [(0, "(0, [3.0])\n")] * 2)


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        run_rank(*sys.argv[2:5])
    else:
        unittest.main()
