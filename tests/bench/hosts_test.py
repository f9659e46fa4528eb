#!/usr/bin/env python3
"""bench/hosts: the words for hosts, what goes through them at least, and tables of recorded results."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
for folder in ("compare", "hosts"):
    sys.path.insert(0, str(ROOT / "bench" / folder))

import layout  # noqa: E402
import record  # noqa: E402
import verdicts  # noqa: E402
from testbed import Testbed  # noqa: E402

RESULTS = sorted((ROOT / "bench" / "results").glob("collectives-*-hosts-*.json"))


class Layout(unittest.TestCase):
    def test_words_and_back(self):
        for text, ranks_on in (("2x4", [4, 4]), ("1+7", [1, 7]), ("4x1", [1] * 4)):
            with self.subTest(text):
                self.assertEqual(layout.parse(text), ranks_on)
                self.assertEqual(layout.text(ranks_on), text)
        self.assertEqual(layout.parse("2x3+1"), [3, 3, 1])

    def test_what_is_none_is_refused_with_an_example(self):
        for text in ("", "4", "0x4", "2x", "x4", "2x4+", "2x4x2", "-1+7", "two"):
            with self.subTest(text), self.assertRaisesRegex(argparse.ArgumentTypeError, "2x4"):
                layout.parse(text)


class Bounds(unittest.TestCase):
    def test_even_hosts_share_as_single_ranks_do(self):
        for collective, least in (("all_reduce", 1), ("all_gather", 0.5), ("reduce_scatter", 0.5),
                                  ("broadcast", 1), ("all_to_all", 2)):
            with self.subTest(collective):
                self.assertEqual(verdicts.least_through_a_host(collective, [4, 4]), least)

    def test_uneven_hosts_are_bounded_by_the_busiest(self):
        self.assertEqual(verdicts.least_through_a_host("all_gather", [1, 7]), 7 / 8)
        self.assertEqual(verdicts.least_through_a_host("all_to_all", [1, 7]), 7 / 8)
        self.assertEqual(verdicts.least_through_a_host("all_reduce", [1, 7]), 1)

    def test_recorded_tables_stay_within_the_links(self):
        self.assertTrue(RESULTS)
        for path in RESULTS:
            whole = record.load([path])
            rate = verdicts.link_rate(whole)
            for row in (row for one in whole["sections"] for row in verdicts.rows_of(one)):
                with self.subTest(f"{path.name} {row.collective} {row.size}"):
                    if row.size >= 1 << 20:  # shorter ones fit into the links' bursts
                        self.assertLess(verdicts.share_of_link(row, rate), 1.15)


class TrainingSteps(unittest.TestCase):
    """bench/torch/hosts, without PyTorch."""

    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("torch_hosts", str(ROOT / "bench" / "torch" / "hosts"))
        self.program = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(self.program)

    def test_each_host_runs_torchrun_with_its_number(self):
        rest = ["--json", "/there/x.json", "--steps", "3"]
        found = list(self.program.commands(Testbed([2, 2], "200mbit"), rest))
        self.assertEqual(len(found), 2)
        for host, command in enumerate(found):
            words = " ".join(command)
            self.assertIn(f" h{host} ", words)
            self.assertIn(f"--nnodes 2 --node-rank {host} --nproc-per-node 2 ", words)
            self.assertIn(f"steps.py {' '.join(rest)} --network 2x2 hosts, 200mbit --command ", words)
            self.assertIn(" --json FILE ", command[-1])

    def test_uneven_hosts_are_refused(self):
        with contextlib.redirect_stderr(io.StringIO()) as told, self.assertRaises(SystemExit):
            with unittest.mock.patch.object(sys, "argv", ["hosts", "--hosts", "1+3"]):
                self.program.arguments()
        self.assertIn("the same number of processes on each host", told.getvalue())


if __name__ == "__main__":
    unittest.main()
