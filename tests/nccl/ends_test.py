#!/usr/bin/env python3
"""Ranks that end without ncclCommDestroy: their peers complete what they are in.

Run as `ends_test.py nccl_ends`, which is one rank.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
RANKS = 4
ROUNDS = 20
PATIENCE = 60  # seconds for one job
QUIET = {"RONDO_DEBUG": "none"}  # a busy machine's waits are no trouble


def start(rank, identity, how, environment):
    return subprocess.Popen([PROGRAM, str(rank), str(RANKS), identity, how], text=True,
                            env=os.environ | QUIET | environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def run_job(how, environment):
    """By rank: its status, what it wrote, and where it failed."""
    ranks = [start(0, "-", how, environment)]
    try:
        identity = ranks[0].stdout.readline().strip()
        ranks += [start(rank, identity, how, environment) for rank in range(1, RANKS)]
        ends = [rank.communicate(timeout=PATIENCE) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()
    return [(rank.returncode, *texts) for rank, texts in zip(ranks, ends)]


class Ends(unittest.TestCase):
    def check(self, how):
        for transport in ("tcp", "shm"):
            for number in range(ROUNDS):
                with self.subTest(how=how, transport=transport, number=number):
                    for end in run_job(how, {"RONDO_TRANSPORT": transport}):
                        self.assertEqual(end, (0, "", ""))

    def test_main_returns(self):
        self.check("return")

    def test_exit(self):
        self.check("exit")

    def test_a_rank_that_fails_is_dead(self):
        for transport in ("tcp", "shm"):
            with self.subTest(transport=transport), tempfile.TemporaryDirectory() as folder:
                trace = pathlib.Path(folder) / "trace"
                *others, last = run_job("fail", {"RONDO_TRANSPORT": transport, "RONDO_TRACE": str(trace)})
                self.assertEqual(last[0], 1)
                self.assertIn(b"all_reduce", trace.with_suffix(f".{RANKS - 1}").read_bytes())
                for status, words, trouble in others:
                    self.assertEqual((status, trouble), (0, ""))
                    self.assertIn(f"rank {RANKS - 1} (host ", words)
                    self.assertIn("died or was killed", words)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
