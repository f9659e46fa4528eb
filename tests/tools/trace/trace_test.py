#!/usr/bin/env python3
"""Real runs of four ranks, traced, merged and shown: messages through shared memory and tcp, and the
direct path; ranks on "several machines", whose clocks are then compared.

    trace_test.py RONDO FOLDER RONDORUN ALL_REDUCE_PERF
"""

import json
import sys
import unittest

from support import Running, all_reduce_perf, folder, rondo, rondorun, traced_run


def lines(path, kind):
    return [line.split() for line in path.read_text().splitlines() if line.split()[0] == kind]


class Runs(unittest.TestCase):
    def events(self, path):
        out = folder / "chrome.json"
        status, _, errors = rondo("trace", path, "--chrome", out)
        self.assertEqual(status, 0, errors)
        return json.loads(out.read_text())["traceEvents"]

    def check_messages(self, path, sends_a_call, uncertain=0.0):
        """Every send has its receive and is not received before it is sent."""
        events = self.events(path)
        starts = {each["id"]: each for each in events if each["ph"] == "s"}
        ends = {each["id"]: each for each in events if each["ph"] == "f"}
        self.assertEqual(starts.keys(), ends.keys())
        self.assertGreaterEqual(len(starts), sends_a_call)
        for number, start in starts.items():
            self.assertNotEqual(start["pid"], ends[number]["pid"])
            self.assertGreaterEqual(ends[number]["ts"] + uncertain, start["ts"])
        self.assertEqual({each["pid"] for each in events}, {0, 1, 2, 3})
        summary = rondo("trace", path)[1]
        self.assertNotIn("The traces are incomplete", summary)
        return summary

    def test_messages(self):
        for transport in ("shm", "tcp"):
            path = traced_run(transport, "-b", "1M", "-e", "1M", "-n", 2, "-w", 1,
                              "--transport", transport, "--algorithm", "ring")
            summary = self.check_messages(path, 6 * 4)
            self.assertRegex(summary, rf"4 ranks over {transport}, \d+ calls")
            for words in ("Clocks: one", "Slowest rank: ", "Slowest link: ", "Slowest round: "):
                self.assertIn(words, summary)
            row = next(line.split() for line in summary.splitlines() if "all_reduce  1 MiB" in line)
            explained = rondo("explain", "--from-trace", path, "--call", row[-3])[1]
            self.assertIn("reduce-scatter", explained)
            self.assertRegex(explained, r"d0>1@\d+\.\d")

    def test_the_direct_way(self):
        path = traced_run("direct", "-b", 8, "-e", "4M", "-f", 512, "-n", 2, "-w", 1, "--algorithm", "direct")
        kinds = {line[0] for line in map(str.split, (folder / "direct.2").read_text().splitlines())}
        self.assertLessEqual({"p", "s", "m"}, kinds)
        summary = rondo("trace", path)[1]
        self.assertRegex(summary, r"all_reduce +8 B +direct, one_shot")
        self.assertNotIn("The traces are incomplete", summary)
        status, _, errors = rondo("trace", path, "--html", folder / "direct.html")
        self.assertEqual(status, 0, errors)
        self.assertEqual(rondo("explain", "--from-trace", path)[0], 0)

    def test_clocks_of_several_machines(self):
        """There is only one clock, so the measured difference must be 0 within its uncertainty."""
        path = folder / "hosts"
        script = 'RONDO_HOSTID=host$RANK exec "$@"'
        Running(rondorun, "-n", "4", "sh", "-c", script, "sh", all_reduce_perf, "-b", "1M", "-e", "1M", "-n",
                "2", "-w", "1", "--algorithm", "ring", RONDO_TRACE=str(path)).require_success()
        uncertain = 0
        self.assertEqual(lines(folder / "hosts.0", "offset"), [])
        for rank in (1, 2, 3):
            offsets = lines(folder / f"hosts.{rank}", "offset")
            self.assertEqual(len(offsets), 2, "one at the beginning, one at the end")
            for _, _, ahead, unsure in offsets:
                self.assertLessEqual(abs(int(ahead)), int(unsure))
                uncertain = max(uncertain, int(unsure))
        summary = self.check_messages(path, 6 * 4, uncertain=2 * uncertain / 1000)
        self.assertRegex(summary,
                         r"rank 3: -?\d+\.\d us ahead of rank 0's, at most \d+\.\d us off; at the end")

    def test_a_small_limit_keeps_the_newest(self):
        path = traced_run("limit", "-b", "1M", "-e", "1M", "-n", 40, "--transport", "shm",
                          "--algorithm", "ring", RONDO_TRACE_LIMIT="1000")
        lost = int(lines(folder / "limit.1", "lost")[0][1])
        events = int(lines(folder / "limit.1", "end")[0][1])
        self.assertLessEqual(events, 1000)
        self.assertGreater(lost, 0)
        self.assertRegex(rondo("trace", path)[1], r"Rank 1 lost its oldest \d+ events")

    def refused(self, path):
        """What a job says that cannot write its trace."""
        job = Running(rondorun, "-n", "2", all_reduce_perf, "-b", "8", "-e", "8", RONDO_TRACE=str(path))
        self.assertNotEqual(job.status(), 0, job.log)
        return job.text

    def test_a_name_that_cannot_be_written(self):
        said = self.refused(folder / "no" / "folder")
        self.assertIn("cannot write the trace", said)
        self.assertIn("RONDO_TRACE", said)

    def test_nothing_stays_of_a_trace_that_cannot_be_written(self):
        """Either its name is a folder's, or the disk is full."""
        for rank in (0, 1):
            (folder / f"taken.{rank}").mkdir()
            (folder / f"full.{rank}.part").symlink_to("/dev/full")
        for name in ("taken", "full"):
            self.assertIn(f"cannot write the trace {folder / name}.", self.refused(folder / name))
        self.assertEqual(list(folder.glob("*.part")), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
