#!/usr/bin/env python3
"""bench/formula's arithmetic, verdicts and table; nothing is measured."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "bench" / "formula"), str(ROOT / "bench" / "hosts"),
                str(ROOT / "bench" / "compare")]

import measured  # noqa: E402
import table  # noqa: E402

NETWORK = {"hosts": 4, "rate": "1gbit", "payload_gb_s": 0.1, "measured_by": "a test",
           "congestion_control": "reno"}
MODEL = {"alpha": 0, "beta": 1e-8, "gamma": 1e-10, "slice": 1 << 19}


def row(algorithm, seconds, idle=0.5):
    return {"algorithm": algorithm, "bytes": 10_000_000, "slice": 100_000, "simulated": 0.16,
            "link_bytes": 15_000_000,
            "samples": [{"seconds": one, "idle": idle} for one in seconds]}


def document(*rows):
    return table.document(list(rows), NETWORK, MODEL, 5.0, "rondo at 0")


def idle_column(whole):
    place = table.HEADER.index("idle")
    return [table.cells(one)[place] for one in whole["rows"]]


class Formula(unittest.TestCase):
    def test_a_row_is_judged_by_its_median_against_the_prediction(self):
        whole = document(row("ring", [0.156, 0.9, 0.15]), row("double_tree", [0.21]))
        ring, tree = whole["rows"]
        self.assertAlmostEqual(ring["measured"], 0.156)
        self.assertAlmostEqual(ring["off_per_cent"], 4.0)
        self.assertTrue(ring["within"])
        self.assertFalse(tree["within"])
        self.assertEqual(table.missed(whole), 1)

    def test_latency_counts_by_hops_and_a_single_tree_fills_with_a_slice(self):
        model = dict(MODEL, alpha=1e-3)  # and a slice 1 ms on a link
        self.assertAlmostEqual(table.formula(row("ring", []), NETWORK, model), 0.156)
        self.assertAlmostEqual(table.formula(row("circulant", []), NETWORK, model), 0.154)
        self.assertAlmostEqual(table.formula(row("double_tree", []), NETWORK, model), 0.154)
        self.assertAlmostEqual(table.formula(row("binomial_tree", []), NETWORK, model), 0.158)

    def test_the_least_time_is_what_the_links_carry(self):
        # 2 * 3/4 * 10 MB at 100 MB/s
        self.assertAlmostEqual(document(row("ring", [0.15]))["rows"][0]["least"], 0.15)

    def test_the_table_says_what_is_off(self):
        text = table.text(document(row("ring", [0.15]), row("circulant", [0.3])))
        self.assertIn("1 of 2 within 5 % of the prediction", text)
        self.assertIn("+100.0 %", text)
        self.assertIn("OFF", text)

    def test_the_table_says_how_idle_processors_were(self):
        whole = document(row("ring", [0.15], idle=0.25))
        self.assertEqual(idle_column(whole), ["25 %"])

    def test_a_table_replaces_the_one_of_the_same_network(self):
        with tempfile.TemporaryDirectory() as folder:
            first = table.save(document(row("ring", [0.15])), pathlib.Path(folder))
            whole = document(row("ring", [0.3]))
            self.assertEqual(table.save(whole, pathlib.Path(folder)), first)
            self.assertIn("all_reduce-formulas-4-hosts-1gbit", first.name)
            self.assertEqual(first.read_text(), table.text(whole))

    def test_sizes_are_read_as_programs_write_them(self):
        self.assertEqual(measured.bytes_of("1.5", "MiB"), 1.5 * (1 << 20))


if __name__ == "__main__":
    unittest.main()
