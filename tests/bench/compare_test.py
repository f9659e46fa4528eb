#!/usr/bin/env python3
"""bench/compare's arithmetic, ratios, verdicts, tables and curves; no library and no clock needed."""
import argparse
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench" / "compare"))

import libraries  # noqa: E402
import measure  # noqa: E402
import plan  # noqa: E402
import plot  # noqa: E402
import program  # noqa: E402
import record  # noqa: E402
import summary  # noqa: E402
import svg_plot  # noqa: E402
import tables  # noqa: E402

KB, MB = 1 << 10, 1 << 20
RONDO, OPENMPI, MPICH = libraries.RONDO, libraries.OPENMPI, libraries.MPICH


def measured(*rounds, calls=10):
    """A cell whose rounds have these times."""
    return {"calls": calls, "samples": 1, "us": list(rounds), "cpu_us": [2 * us for us in rounds]}


def section(rows, **changes):
    whole = {"link": "shm", "ranks": 2, "collective": "all_reduce", "cache": "warm",
             "oversubscribed": False, "copy_ranks": 2, "missing": {}, "notes": [],
             "rows": [{"bytes": size, "run": 0, "variants": cells} for size, cells in rows.items()]}
    return dict(whole, **changes)


def row(size, cells, **changes):
    whole = section({size: cells}, **changes)
    return summary.Row(whole, whole["rows"][0])


class Plan(unittest.TestCase):
    def test_probe_separates_calls_from_overhead(self):
        probe = plan.probe_of(MB, seconds=0.030, call_us=1000.0, calls=2)  # and 4 to warm up
        self.assertAlmostEqual(probe.call, 1e-3)
        self.assertAlmostEqual(probe.overhead, 0.012)
        self.assertEqual(plan.probe_of(MB, 0.001, 1000.0, 2).overhead, 0.0)

    def test_slow_peer_gets_few_calls(self):
        self.assertEqual(plan.calls_for(8, 4e-3, oversubscribed=False), 1)
        self.assertEqual(plan.calls_for(8, 4e-3, oversubscribed=True), 5)
        self.assertEqual(plan.calls_for(8, 1e-9, oversubscribed=False), plan.MOST_PAIRS)
        self.assertEqual(plan.probe_calls(8, last_call=4e-3), 2)
        self.assertEqual(plan.probe_calls(8, last_call=None), 20)

    def test_every_call_of_a_sample_has_a_fresh_buffer(self):
        for size in plan.SIZES:
            calls = plan.calls_for(size, 1e-7, oversubscribed=True)
            self.assertLessEqual(calls, plan.pairs(size))
        self.assertEqual(plan.calls_for(8, 1e-7, True, cold=True), plan.COLD_CALLS)

    def test_plan_fits_the_budget_and_uses_it(self):
        probes = {(size, variant): plan.Probe(size, 1e-4, 1e-3)
                  for size in (8 * MB, 16 * MB) for variant in (RONDO, OPENMPI)}
        efforts, left_out = plan.make_plan(probes, 1.0, 5, oversubscribed=False)
        seconds = plan.total_seconds(probes, efforts)
        self.assertEqual(left_out, [])
        self.assertLessEqual(seconds, 1.0)
        self.assertGreater(seconds, 0.8)

    def test_largest_sizes_are_left_out_but_never_small_ones(self):
        probes = {(size, RONDO): plan.Probe(size, size * 1e-9, size * 1e-9)
                  for size in (MB, 64 * MB, 256 * MB)}
        efforts, left_out = plan.make_plan(probes, 0.5, 3, oversubscribed=False)
        self.assertEqual(left_out, [64 * MB, 256 * MB])
        self.assertEqual({size for size, _ in efforts}, {MB})
        efforts, left_out = plan.make_plan(probes, 0.0, 3, oversubscribed=False)
        self.assertEqual({size for size, _ in efforts}, {MB})
        self.assertEqual(efforts[MB, RONDO].samples, plan.LEAST_SAMPLES)

    def test_who_is_far_behind_is_asked_once(self):
        probes = {(8, RONDO): plan.Probe(8, 1e-6, 0), (8, OPENMPI): plan.Probe(8, 1e-5, 0),
                  (8, MPICH): plan.Probe(8, 4e-3, 0)}
        efforts, _ = plan.make_plan(probes, 10.0, 5, oversubscribed=True)
        self.assertEqual(efforts[8, MPICH], plan.Effort(1, plan.LEAST_SAMPLES, 1))
        self.assertEqual(efforts[8, OPENMPI].rounds, 5)  # slower than rondo, yet the best peer
        self.assertEqual(efforts[8, RONDO].rounds, 5)

    def test_next_size_is_judged_by_the_last(self):
        last = {(16 * MB, RONDO): plan.Probe(16 * MB, 0.01, 0.02)}
        self.assertTrue(plan.probe_fits(64 * MB, last, 3, False, remaining=10.0))
        self.assertFalse(plan.probe_fits(64 * MB, last, 3, False, remaining=0.5))
        self.assertTrue(plan.probe_fits(64 * KB, last, 3, False, remaining=0.0))
        self.assertTrue(plan.probe_fits(64 * MB, {}, 3, False, remaining=0.0))

    def test_rounds_stop_when_time_is_up(self):
        self.assertTrue(plan.another_round(1, last_seconds=9, remaining=0))
        self.assertFalse(plan.another_round(2, last_seconds=9, remaining=1))
        self.assertTrue(plan.another_round(2, last_seconds=1, remaining=1))

    def test_memory_and_shares(self):
        self.assertTrue(plan.fits_memory(256 * MB, 2, 4 << 30))
        self.assertFalse(plan.fits_memory(256 * MB, 8, 4 << 30))
        self.assertAlmostEqual(plan.share(12.0, [2.0, 1.0, 1.0]), 6.0)
        self.assertEqual(plan.share(-3.0, [1.0]), 0.0)


class Replies(unittest.TestCase):
    def test_slowest_rank_and_sum_of_processors(self):
        found = measure.parse_replies(["done 0 0.5 1,4 1,1", "done 0 0.7 2,3 2,2"])
        self.assertEqual(found, {"seconds": 0.7, "us": [2, 4], "cpu_us": [3, 3]})

    def test_wrong_elements_are_an_error(self):
        with self.assertRaisesRegex(measure.WrongResult, "3 wrong elements"):
            measure.parse_replies(["done 1 0.5 1 1", "done 2 0.5 1 1"])


class Variants(unittest.TestCase):
    def test_ragged_calls_are_compared_with_both_mpis(self):
        self.assertEqual(len(libraries.RAGGED), 20)
        for collective in libraries.RAGGED:
            self.assertEqual(libraries.variants("shm", collective),
                             [RONDO, libraries.ALLOCATE, OPENMPI, MPICH])
            self.assertEqual(libraries.variants("tcp", collective), [RONDO, OPENMPI, MPICH])
        self.assertFalse(set(libraries.RAGGED) & set(libraries.COLLECTIVES))


class Ratios(unittest.TestCase):
    def test_ratio_is_taken_round_by_round(self):
        # The machine halved its speed in the second round: the ratio does not see it.
        cells = {"rondo": measured(1, 2), "openmpi": measured(2, 4)}
        self.assertEqual(row(8, cells).ratio("rondo", "openmpi"),
                         {"median": 0.5, "min": 0.5, "max": 0.5})

    def test_a_rounds_value_is_a_mean_where_cores_are_shared(self):
        self.assertEqual(summary.typical([1, 1, 10], oversubscribed=False), 1)
        self.assertEqual(summary.typical([1, 1, 10], oversubscribed=True), 4)
        self.assertEqual(summary.typical([1.234567], oversubscribed=False), 1.2346)

    def test_best_peer_ignores_failures(self):
        cells = {"rondo": measured(1), "openmpi": {"failure": "hangs"}, "mpich": measured(5),
                 "gloo": measured(9)}
        self.assertEqual(row(8, cells).best(summary.PEERS), "mpich")
        self.assertIsNone(row(8, {"rondo": measured(1)}).best(summary.PEERS))
        self.assertIsNone(row(8, cells).ratio("rondo", "openmpi"))

    def test_busbw_has_the_factors_of_nccl_tests(self):
        self.assertAlmostEqual(summary.busbw("all_reduce", 4, 1000, 1.0), 1.5)
        self.assertAlmostEqual(summary.busbw("all_gather", 4, 1000, 1.0), 0.75)
        self.assertAlmostEqual(summary.busbw("broadcast", 4, 1000, 1.0), 1.0)
        self.assertAlmostEqual(summary.busbw("all_gather_v:even", 4, 1000, 1.0), 0.75)

    def test_floor_is_every_ranks_copy(self):
        cells = {"copy": measured(3), "copy stream": measured(5)}
        self.assertEqual(row(8, cells, ranks=4, copy_ranks=2).floor(), 6)
        cells["copy stream"] = measured(2)
        self.assertEqual(row(8, cells, ranks=4, copy_ranks=2).floor(), 4)
        self.assertIsNone(row(8, {}).floor())


class Verdicts(unittest.TestCase):
    def verdict(self, size, cells, **changes):
        return {one["what"]: (one["limit"], one["reached"])
                for one in summary.verdicts(row(size, cells, **changes))}

    def test_bars_of_all_reduce_in_shared_memory(self):
        bars = summary.shared_memory_bars
        self.assertEqual(bars("all_reduce", 2, 8, None), [("rondo", 0.8)])
        self.assertEqual(bars("all_reduce", 4, 8, None), [("rondo", 1.0)])
        self.assertEqual(bars("all_reduce", 4, 64 * KB, None), [("rondo", 0.8)])
        self.assertEqual(bars("all_reduce", 8, MB, None), [("rondo", 1.0)])
        self.assertEqual(bars("broadcast", 2, MB, None), [("rondo", 1.0)])
        self.assertEqual(bars("all_reduce", 2, MB, 0.3), [("rondo", 0.7), ("allocate", 0.5)])
        self.assertEqual(bars("all_reduce", 2, MB, 0.6)[1][0], "allocate")
        self.assertAlmostEqual(bars("all_reduce", 2, MB, 0.6)[1][1], 0.8)

    def test_best_peer_decides(self):
        cells = {"rondo": measured(0.75), "openmpi": measured(2), "mpich": measured(1)}
        self.assertEqual(self.verdict(8, cells),
                         {"rondo/mpich": (0.8, True), "cpu/openmpi": (1.0, True)})
        cells["rondo"] = measured(0.9)
        self.assertEqual(self.verdict(8, cells)["rondo/mpich"], (0.8, False))

    def test_tcp_has_a_bar_for_each_peer(self):
        cells = {"rondo": measured(5), "openmpi": measured(6), "gloo": measured(90),
                 "gloo bcube": measured(10)}
        self.assertEqual(self.verdict(8, cells, link="tcp"),
                         {"rondo/gloo bcube": (0.6, True), "rondo/openmpi": (0.8, False),
                          "cpu/openmpi": (1.0, True)})

    def test_over_tcp_plain_sockets_are_a_floor(self):
        cells = {"rondo": measured(5), "openmpi": measured(5), "socket": measured(9),
                 "socket pair": measured(4.4)}
        whole = section({8: cells}, link="tcp")
        self.assertEqual(self.verdict(8, cells, link="tcp")["rondo/openmpi"], (0.8, True))
        self.assertRegex(tables.section_text(whole),
                         r"1\.14 \[1\.14\.\.1\.14\] .* reached \(the sockets' floor\)")
        cells["socket pair"] = measured(4.3)  # 1.163 times as long as the floor
        self.assertEqual(self.verdict(8, cells, link="tcp")["rondo/openmpi"], (0.8, False))
        self.assertIn("MISSED rondo/openmpi 1.00 > 0.80", tables.section_text(whole))

    def test_nothing_to_compare_is_no_verdict(self):
        self.assertEqual(self.verdict(8, {"rondo": measured(1)}), {})


class Tables(unittest.TestCase):
    def test_failures_and_absences_are_said(self):
        text = tables.section_text(section(
            {8: {"rondo": measured(1), "openmpi": {"failure": "hangs: no answer of ranks [1]"},
                 "mpich": measured(2)}},
            missing={"gloo": "not built"}, notes=[[0, "2 of 5 rounds"], [MB, "not enough memory"]]))
        self.assertRegex(text, r"(?m)^ *8 B +1\.00 +- +failed +2\.00 +mpich +0\.50 \[0\.50")
        for line in ("gloo is not measured: not built", "1 MB is left out: not enough memory",
                     "openmpi at 8 B: hangs: no answer of ranks [1]", "2 of 5 rounds"):
            self.assertIn(f"\n{line}", text)

    def test_missed_bar_says_by_how_much(self):
        whole = section({8: {"rondo": measured(3), "openmpi": measured(2)}})
        self.assertIn("MISSED rondo/openmpi 1.50 > 0.80, MISSED cpu/openmpi 1.50 > 1.00",
                      tables.section_text(whole))
        self.assertEqual(tables.missed([whole]), (2, 2))

    def test_gloo_is_the_better_of_its_two(self):
        line = summary.summarize(row(8, {"rondo": measured(1), "gloo": measured(9),
                                         "gloo bcube": measured(7)}, link="tcp"))
        self.assertEqual(tables.time_text(line, "gloo"), "7.00")
        self.assertEqual(line["peer"], "gloo bcube")

    def test_numbers_and_sizes(self):
        self.assertEqual([tables.number(one) for one in (None, 0.125, 12.34, 1234.5)],
                         ["-", "0.12", "12.3", "1234"])
        self.assertEqual([tables.size_text(one) for one in (12, 1536, KB, 16 * MB)],
                         ["12 B", "1536 B", "1 KB", "16 MB"])


class Programs(unittest.TestCase):
    def test_sizes_are_read_as_programs_write_them(self):
        self.assertEqual(program.size("64M"), 64 * MB)
        self.assertEqual(program.sizes("1k,8,1KB,6"), [4, 8, KB])
        for wrong in ("64 MB", "3", "", "-8"):
            with self.assertRaises(argparse.ArgumentTypeError):
                program.sizes(wrong)

    def test_two_sides_take_turns_in_coming_first(self):
        asked = []
        found = program.in_turn(lambda: asked.append("old") or 2, lambda: asked.append("new") or 3, 3)
        self.assertEqual(found, [(2, 3)] * 3)
        self.assertEqual(asked, ["old", "new", "new", "old", "old", "new"])

    def test_a_command_that_does_not_end_well_says_what_it_said(self):
        self.assertEqual(program.output_of(["echo", 3], environment={"A": "1"}), "3\n")
        for words in (["/nowhere/rondo"], ["sh", "-c", "echo trouble >&2; exit 3"], ["sleep", 9]):
            with self.assertRaisesRegex(program.Failure, "Try: tools/build|trouble|timed out"):
                program.output_of(words, limit=0.2)

    def test_the_status_says_how_a_program_ended(self):
        def fail():
            raise program.Failure("as this test wants")

        def lack():
            raise KeyError("as this test wants")
        with contextlib.redirect_stderr(io.StringIO()):
            for main, status in ((lambda: 1, 1), (fail, 2), (lack, program.SKIPPED)):
                with self.assertRaises(SystemExit) as ended:
                    program.run(main, KeyError)
                self.assertEqual(ended.exception.code, status)


class Plots(unittest.TestCase):
    CELLS = {"rondo": measured(4), "openmpi": measured(8), "copy": measured(2),
             "mpich": {"failure": "died"}}

    def test_curves_hold_what_was_measured(self):
        whole = section({8: self.CELLS, MB: {"openmpi": measured(80)}})
        curves = {name: points[1:] for name, points in plot.curves_of(whole).items()}
        self.assertEqual(curves, {"rondo": ([8], [4]), "Open MPI": ([8, MB], [8, 80])})

    def test_the_faster_of_two_variants_counts(self):
        whole = section({8: {"gloo": measured(9), "gloo bcube": measured(7)}}, link="tcp")
        self.assertEqual(plot.curves_of(whole)["gloo"][1:], ([8], [7]))

    def test_pictures_show_the_fewest_ranks(self):
        rows = {8: self.CELLS}
        whole = {"sections": [section(rows, ranks=4), section(rows), section(rows, link="tcp"),
                              section(rows, collective="broadcast", ranks=4),
                              section(rows, collective="gather_v:one")]}
        found = {name: [plot.heading(one) for one in sections]
                 for name, sections in plot.pictures(whole).items()}
        self.assertEqual(found, {"all_reduce.svg": ["all_reduce, shared memory, 2 ranks",
                                                    "all_reduce, TCP, loopback, 2 ranks"],
                                 "collectives.svg": ["broadcast, shared memory, 4 ranks"]})
        whole = {"sections": [section(rows, link="hosts", hosts=[1, 1]),
                              section({}, link="hosts", hosts=[1, 1], collective="all_to_all")],
                 "runs": [{"network": {"rate": "200mbit"}}]}
        self.assertEqual([plot.heading(one) for found in plot.pictures(whole).values() for one in found],
                         ["all_reduce, 2x1 ranks"])

    def test_names_do_not_overlap(self):
        self.assertEqual(svg_plot.spread([10, 12, 40], 15, 0, 100), [10, 25, 40])
        self.assertEqual(svg_plot.spread([10, 95, 99], 15, 0, 100), [10, 85, 100])

    def test_ticks_are_few(self):
        self.assertEqual([tables.size_text(size) for size in svg_plot.size_ticks(8, 256 * MB)],
                         ["8 B", "256 B", "8 KB", "256 KB", "8 MB", "256 MB"])
        self.assertEqual(svg_plot.size_ticks(8, 8), [8])


class Records(unittest.TestCase):
    RUN = {"date": "2026-01-02T03:04:05+00:00", "commit": "abc", "uncommitted_changes": False,
           "command": "bench/compare/run", "versions": {"rondo": "rondo 1"},
           "machine": {"cpu": "Some(R) CPU @ 2", "cores": 2, "kernel": "6", "system": "x"}}

    def document(self, *sections, **changes):
        return {"runs": [dict(self.RUN, **changes)], "sections": list(sections)}

    def test_a_machine_has_one_file_and_later_rows_replace_equal_ones(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            whole = self.document(section({8: {}, KB: {}}), section({8: {}}, ranks=4))
            first = record.save(whole, folder, "collectives")
            self.assertEqual(first.name, "collectives-some-cpu-2-2-cores.json")
            self.assertEqual(json.loads(first.read_text()), whole)
            later = self.document(section({KB: {"rondo": measured(3)}}), commit="def")
            self.assertEqual(record.save(later, folder, "collectives"), first)
            merged = record.load([first])
        self.assertEqual([one["commit"] for one in merged["runs"]], ["abc", "def"])
        self.assertEqual([[(row["bytes"], row["run"]) for row in one["rows"]]
                          for one in merged["sections"]], [[(8, 0), (KB, 1)], [(8, 0)]])

    def test_runs_without_rows_are_dropped(self):
        merged = record.joined([self.document(section({8: {}})),
                                self.document(section({8: {}}), commit="def")])
        self.assertEqual([one["commit"] for one in merged["runs"]], ["def"])
        self.assertEqual(merged["sections"][0]["rows"][0]["run"], 0)

    def test_recorded_results_say_where_when_and_how(self):
        paths = sorted((ROOT / "bench" / "results").glob("collectives-*.json"))
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(path.name):
                whole = record.load([path])
                for run in whole["runs"]:
                    self.assertTrue(run["commit"] and run["command"] and run["machine"]["cpu"])
                for one in whole["sections"]:
                    self.assertIn(one["collective"], tables.section_text(
                        dict(one, link="tcp" if one["link"] == "hosts" else one["link"])))


class Launching(unittest.TestCase):
    def test_ranks_are_told_their_place(self):
        found = libraries.by_environment("driver", "socket", 2, {"A": "b"})
        self.assertEqual(found[1], (["driver", "socket"],
                                    {"A": "b", "RANK": "1", "WORLD_SIZE": "2"}))

    def test_missing_driver_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(libraries.why_missing("gloo", pathlib.Path(folder)),
                             "compare_gloo is not built")

    def test_gloo_has_no_shared_memory(self):
        for collective in libraries.COLLECTIVES:
            self.assertNotIn("gloo", [one.library for one in libraries.variants("shm", collective)])
        self.assertIn(libraries.GLOO_BCUBE, libraries.variants("tcp", "all_reduce"))


if __name__ == "__main__":
    unittest.main()
