#!/usr/bin/env python3
"""Ranks that end without ncclCommDestroy: their peers complete what they are in.

Run as `ends_test.py nccl_ends`, which is one rank.
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from running import Running, end_all

PROGRAM = ""
RANKS = 4
ROUNDS = 20


def run_job(how, **environment):
    """[(status, text)] by rank. The first rank tells where to meet."""
    def start(rank, identity):
        return Running(PROGRAM, rank, RANKS, identity, how, RONDO_DEBUG="none", **environment)

    first = start(0, "-")
    try:
        first.wait_for("\n")
        identity = first.text.strip()
        return end_all([first, *(start(rank, identity) for rank in range(1, RANKS))])
    finally:
        first.kill()


class Ends(unittest.TestCase):
    def check(self, how):
        for transport in ("tcp", "shm"):
            for number in range(ROUNDS):
                with self.subTest(how=how, transport=transport, number=number):
                    first, *others = run_job(how, RONDO_TRANSPORT=transport)
                    self.assertRegex(first[1], r"\A[0-9a-f]+\n\Z")  # the id alone
                    self.assertEqual([first[0], *others], [0] + [(0, "")] * (RANKS - 1))

    def test_main_returns(self):
        self.check("return")

    def test_exit(self):
        self.check("exit")

    def test_a_rank_that_fails_is_dead(self):
        for transport in ("tcp", "shm"):
            with self.subTest(transport=transport), tempfile.TemporaryDirectory() as folder:
                trace = pathlib.Path(folder) / "trace"
                *others, last = run_job("fail", RONDO_TRANSPORT=transport, RONDO_TRACE=str(trace))
                self.assertEqual(last[0], 1)
                self.assertIn(b"all_reduce", trace.with_suffix(f".{RANKS - 1}").read_bytes())
                for rank, (status, text) in enumerate(others):
                    *identity, words = text.splitlines()
                    self.assertEqual((status, len(identity)), (0, 1 if rank == 0 else 0), text)
                    self.assertRegex(words, rf" rank {RANKS - 1} \(host .*died or was killed")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
