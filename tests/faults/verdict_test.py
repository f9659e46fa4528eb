#!/usr/bin/env python3
"""The verdict: it accepts what is right, and rejects each thing that may be wrong. The table is whole."""
import sys
import unittest

sys.dont_write_bytecode = True
import cells  # noqa: E402
import verdict  # noqa: E402


def told(rank, peer=1, kind="peer_lost", seconds=0.2, text="rank 1 (host h1, pid 7) ended"):
    return {"rank": rank, "kind": kind, "peer": peer, "seconds": seconds,
            "text": f"rondo: rank {rank}: {text}"}


def record(**changes):
    """Of three ranks the second dies, and the others say so."""
    return {"outcome": "error", "within": 5, "ranks": 3, "victim": 1, "host": [1],
            "victim_tells": False, "path": False,
            "kills": True, "told": [told(0), told(2)], "done": [], "wrong": [], "launcher": None,
            "held": [], "gone": 0,
            "left": []} | changes


def launched(status=137, line="rondorun: rank 1 (pid 7, host h1) was killed by signal 9"):
    return {"status": status, "lines": [line]}


WORKS = {"outcome": "works", "told": [], "done": [0, 1, 2]}

GOOD = {
    "a death that both survivors name": record(),
    "an error without a peer whose text names the culprit": record(told=[told(0, -1), told(2)]),
    "a host that is cut off blames another": record(
        victim_tells=True, told=[told(0), told(1, 2, text="rank 2 is silent"), told(2)]),
    "a rank hears which path is broken": record(
        path=True, told=[told(0), told(2, 0, "system", text="rank 1 reports: sending failed")]),
    "a rank tells of a shortage of its own": record(
        victim_tells=True, told=[told(0), told(1, -1, "system", text="no descriptors"), told(2)]),
    "a job that does not notice": record(**WORKS),
    "a job that copes by an error": record(outcome="copes"),
    "a job that copes without one": record(**WORKS | {"outcome": "copes"}),
    "rondorun names the rank, and so do the others": record(outcome="both", launcher=launched()),
    "rondorun names the host": record(
        outcome="both", launcher=launched(1, "rondorun: lost host h1: no answer")),
    "rondorun knows before the others do": record(outcome="launcher", told=[], launcher=launched()),
    "a job that is gone in time": record(outcome="gone", told=[], gone=2),
}

BAD = {
    "nobody names the culprit": (record(told=[told(0, -1, text="it failed"), told(2, -1, text="it failed")]),
                                 "rank 0 blames nobody"),
    "a survivor blames another survivor": (record(told=[told(0, 2), told(2)]), "rank 0 blames 2"),
    "a rank names a path that is whole": (
        record(path=True, told=[told(0, 2, text="sending failed"), told(2)]), "rank 0 blames 2"),
    "a cable is taken for a death": (
        record(kills=False, told=[told(0, text="rank 1 (host h1) ended, died or was killed"), told(2)]),
        "rank 0 says that a rank has died"),
    "a rank names only itself": (record(told=[told(0, -1, text="rank 0 failed"), told(2)]), "blames nobody"),
    "a survivor says nothing": (record(told=[told(0)]), "rank 2 told nothing"),
    "it is too late": (record(told=[told(0), told(2, seconds=5.4)]), "rank 2 told it after 5.4 s"),
    "the host at fault says nothing": (record(victim_tells=True), "rank 1 told nothing"),
    "a wrong element": (record(wrong=[{"rank": 2, "text": "all_reduce"}]), "rank 2 has a wrong element"),
    "a wrong element in a job that works": (record(**WORKS, wrong=[{"rank": 0, "text": ""}]),
                                            "wrong element"),
    "a rank that hangs": (record(held=["rank 0"]), "rank 0 did not end by itself"),
    "a process is left": (record(left=["process 7"]), "left behind: process 7"),
    "a job that should not notice does": (record(outcome="works"), "rank 0 told peer_lost"),
    "a job that works does not complete": (record(**WORKS | {"done": [0, 1]}), "rank 2 has not completed"),
    "some ranks cope and others are not told": (
        record(outcome="copes", told=[told(0)], done=[2]), "rank 2 told nothing"),
    "rondorun names nobody": (record(outcome="both", launcher=launched(137, "rondorun: it failed")),
                              "does not name"),
    "rondorun alone names nobody": (
        record(outcome="launcher", launcher=launched(1, "rondorun: rank 2 failed")), "does not name"),
    "rondorun ends ranks that would have known": (record(outcome="both", told=[], launcher=launched()),
                                                  "rank 0 told nothing"),
    "rondorun takes it for a success": (record(launcher=launched(0)), "status 0"),
    "rondorun fails a job that works": (record(**WORKS, launcher=launched()), "status 137"),
    "a job that is gone too late": (record(outcome="gone", told=[], gone=5.5), "something ran for 5.5 s"),
}


class Verdicts(unittest.TestCase):
    def test_what_is_right_is_accepted(self):
        for name, good in GOOD.items():
            with self.subTest(name):
                self.assertEqual(verdict.complaints(good), [])

    def test_what_is_wrong_is_rejected(self):
        for name, (bad, words) in BAD.items():
            with self.subTest(name):
                self.assertIn(words, "; ".join(verdict.complaints(bad)))

    def test_the_table_shows_who_told_what_and_when(self):
        row = verdict.row({"cell": "tcp/kill/barrier", "record": record(told=[told(0), told(2, seconds=1)])})
        self.assertEqual(row, ["tcp", "kill", "barrier", "0, 2: peer_lost, names 1", "0.2 to 1.0 s", "ok"])
        skipped = {"cell": "tcp/corrupt/barrier", "skipped": "this build has no checksums"}
        self.assertIn("| not run: this build has no checksums |", verdict.table([skipped]))
        self.assertFalse(verdict.is_bad(skipped))
        self.assertTrue(verdict.is_bad({"cell": "tcp/kill/barrier", "broken": "'up' was not said 1 times"}))


class Cells(unittest.TestCase):
    def test_each_transport_meets_each_fault_or_says_why_not(self):
        faults = {fault.name for fault in cells.FAULTS}
        self.assertEqual(set(cells.PAIRS), {transport.name for transport in cells.TRANSPORTS})
        for transport, pairs in cells.PAIRS.items():
            self.assertEqual(set(pairs), faults, transport)

    def test_each_fault_and_collective_is_in_some_cell(self):
        self.assertEqual({cell.fault.name for cell in cells.cells()}, {fault.name for fault in cells.FAULTS})
        self.assertEqual({cell.collective for cell in cells.cells()}, set(cells.COLLECTIVES))

    def test_the_short_form_is_a_part_of_the_long_one(self):
        self.assertEqual(set(cells.SHORT) - {cell.name for cell in cells.cells()}, set())

    def test_every_outcome_has_a_verdict(self):
        self.assertEqual({cell.expected.outcome for cell in cells.cells()}, set(verdict.OUTCOMES))


if __name__ == "__main__":
    unittest.main()
