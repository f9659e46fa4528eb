#!/usr/bin/env python3
"""The merger with traces made by hand: what it says of them, and which it refuses.

    merge_test.py RONDO FOLDER RONDORUN ALL_REDUCE_PERF
"""

import json
import sys
import unittest

from support import folder, hand_made, rondo


def chrome(paths, name):
    path = folder / f"{name}.json"
    status, _, errors = rondo("trace", *paths, "--chrome", path)
    assert status == 0, errors
    return json.loads(path.read_text())["traceEvents"]


class Summaries(unittest.TestCase):
    maxDiff = None

    def test_names_the_late_rank(self):
        paths = hand_made("late", late=5000)
        status, output, errors = rondo("trace", *paths)
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(output, LATE)

    def test_one_call_alone(self):
        paths = hand_made("one", late=5000)
        self.assertEqual(rondo("trace", *paths, "--call", 1)[1], LATE.split("after the first.\n\n")[1])
        for number in (0, 2):
            status, output, errors = rondo("trace", *paths, "--call", number)
            self.assertEqual((status, output), (2, ""))
            self.assertIn("--call", errors)

    def test_takes_the_name_of_the_run(self):
        hand_made("name", late=5000)
        self.assertEqual(rondo("trace", folder / "name")[1], LATE)

    def test_explains_with_times(self):
        paths = hand_made("explain", late=5000)
        status, output, errors = rondo("explain", "--from-trace", *paths)
        self.assertEqual((status, errors), (0, ""))
        for words in ("reduce-scatter", "b0>1@0.1", "a1>0@5.1", "all-gather", "a*>1@7.0", "6.9 1:5.0"):
            self.assertIn(words, output.replace("  ", " "), output)


class GpuCalls(unittest.TestCase):
    """Calls that streams ran; rank 1's clock is 70 us ahead."""

    maxDiff = None
    LINES = ("gpu together 0 {0} {1} {2} all_reduce 1000 float32 sum 0\n"
             "gpu through-host 0 {0} {3} - send_recv 250 float32 sum 0 {peer} {does}\n"
             "gpu between-devices 1 {0} - - broadcast 10 int32 sum 1\n")

    def made(self, name, alone):
        def with_gpu_calls(rank, text):
            ahead = 70000 * rank
            times = [ahead + time for time in (500, 2500, 7500 + 1000 * rank, 9500)]
            lines = self.LINES.format(*times, peer=1 - rank, does=("sends", "receives")[rank])
            if not alone:
                return text.replace("lost 0 0", lines + "lost 0 0 4")
            head = text.split("base 0")[0]
            return head + "base 0\n" + lines + "lost 0 0 0\nend 0\n"
        return hand_made(name, ahead=70000, offsets=[(70000, 70000, 50)], change=with_gpu_calls)

    def test_a_table_of_their_own(self):
        paths = self.made("gpu", alone=False)
        status, output, errors = rondo("trace", *paths)
        self.assertEqual((status, errors), (0, ""))
        self.assertIn(GPU_TABLE, output)
        self.assertIn("Rank 1 lost its oldest 4 calls on GPU buffers", output)
        self.assertIn("all_reduce  32 B", output)

    def test_without_any_others(self):
        paths = self.made("gpu_alone", alone=True)
        status, output, errors = rondo("trace", *paths)
        self.assertEqual((status, errors), (0, ""))
        self.assertTrue(output.endswith(GPU_TABLE), output)
        for arguments in (("--call", 1), ("--html", folder / "gpu.html")):
            status, output, errors = rondo("trace", *paths, *arguments)
            self.assertEqual((status, output), (2, ""))
            self.assertIn("Try: ", errors)
        status, _, errors = rondo("explain", "--from-trace", *paths)
        self.assertEqual(status, 2, errors)

    def test_perfetto_gets_them(self):
        events = chrome(self.made("gpu_chrome", alone=True), "gpu_chrome")
        slices = [(event["pid"], event["ts"], event["dur"], event["name"])
                  for event in events if event["ph"] == "X"]
        self.assertEqual(slices[:3], [(0, 2.0, 5.0, "all_reduce together"),
                                      (0, 9.0, 0.001, "send to 1 through-host"),
                                      (0, 0.0, 0.001, "broadcast between-devices")])
        self.assertEqual(slices[3], (1, 2.0, 6.0, "all_reduce together"))

    def test_wrong_lines_are_refused(self):
        for number, (old, new) in enumerate([("together 0", "together 2"), ("all_reduce 1000", "sing 1000"),
                                             (" 2500 ", " x "), ("float32", "float31")]):
            paths = self.made(f"gpu_wrong{number}", alone=True)
            text = paths[0].read_text()
            self.assertIn(old, text)
            paths[0].write_text(text.replace(old, new, 1))
            status, output, errors = rondo("trace", *paths)
            self.assertEqual((status, output), (2, ""))
            self.assertIn("gpu_wrong", errors)


GPU_TABLE = """
On GPU buffers, 6 calls of ranks, by the clock of each rank's host; `wait` is from the call until
its stream reached it:
  call            size       path             count  wait us  median us  slowest us  on rank
  all_reduce      3.906 KiB  together             2      2.0        6.0         6.0        1
  send to 1       1000 B     through-host         1      9.0          -           -        -
  broadcast       40 B       between-devices      2        -          -           -        -
  receive from 0  1000 B     through-host         1      9.0          -           -        -
2 of them were captured into graphs; replays are not recorded.
"""


class Clocks(unittest.TestCase):
    def arrivals(self, paths, name):
        return [event["ts"] for event in chrome(paths, name) if event["ph"] == "f"]

    def test_offsets_are_taken_away(self):
        plain = self.arrivals(hand_made("same"), "same")
        ahead = hand_made("ahead", ahead=70000, offsets=[(70000, 70000, 50)])
        self.assertEqual(self.arrivals(ahead, "ahead"), plain)
        self.assertIn("70.0 us ahead of rank 0's, at most 0.1 us off", rondo("trace", *ahead)[1])

    def test_drift_is_a_line(self):
        """Clocks are compared twice. This one gains 1000 ns over 10000, half of it by the middle."""
        offsets = [(70000, 69500, 50), (80000, 70500, 50)]
        plain = self.arrivals(hand_made("same"), "same")
        drifted = self.arrivals(hand_made("drift", ahead=70000, offsets=offsets), "drift")
        self.assertEqual(len(drifted), len(plain))
        for time, truth in zip(drifted, plain):
            self.assertLessEqual(abs(time - truth), 0.9)
        self.assertNotEqual(drifted, plain)

    def test_times_that_cannot_be_are_said(self):
        paths = hand_made("odd", ahead=70000, offsets=[(70000, 20000, 50)])
        self.assertIn("arrived before they were sent", rondo("trace", *paths)[1])

    def test_clocks_never_compared_are_said(self):
        def another(rank, text):
            return text.replace("clock a", "clock b") if rank == 1 else text
        paths = hand_made("apart", change=another)
        self.assertIn("The clocks of rank 1 were never compared", rondo("trace", *paths)[1])


class Parts(unittest.TestCase):
    def check_the_other_rank(self, output):
        """What rank 0 recorded is shown, whatever is missing from rank 1."""
        self.assertRegex(output, r"\n +0 +\d+\.\d +\d+\.\d +")
        self.assertRegex(output, r"\n +1 +no trace +- +- +- +-\n")
        for words in ("Slowest rank: ", "Slowest round: ", "all_reduce  32 B  ring"):
            self.assertIn(words, output)
        self.assertNotIn("did not end", output)

    def test_a_missing_rank_is_said(self):
        paths = hand_made("missing")
        status, output, _ = rondo("trace", paths[0])
        self.assertEqual(status, 0)
        self.assertIn("There is no trace of rank 1 of 2", output)
        self.assertIn("4 messages appear in the trace of one side only", output)
        self.check_the_other_rank(output)
        status, _, errors = rondo("trace", paths[0], "--html", folder / "x.html")
        self.assertEqual(status, 2)
        self.assertIn("can be shown round by round", errors)

    def test_a_killed_rank_is_said(self):
        def killed(rank, text):
            return text if rank == 0 else text.split("base")[0] + "base 0\nlost 0 0\n"
        output = rondo("trace", *hand_made("killed", change=killed))[1]
        self.assertIn("The traces of rank 1 are empty", output)
        self.check_the_other_rank(output)

    def test_losses_and_failures_are_said(self):
        def lost(rank, text):
            return text.replace("lost 0 0", "failed rank 0 died\nlost 2000 3")
        output = rondo("trace", *hand_made("lost", change=lost))[1]
        for words in ("lost its oldest 2000 events", "left out 3 calls", "failed: rank 0 died"):
            self.assertIn(words, output)

    def test_ranks_that_disagreed_made_two_calls(self):
        """A run fails where ranks call different collectives: its traces must show them."""
        def other(rank, text):
            return text if rank == 0 else text.replace(" all_reduce ring ", " all_gather ring ")
        status, output, errors = rondo("trace", *hand_made("disagree", change=other))
        self.assertEqual(status, 0, errors)
        self.assertIn("2 calls did not end on every rank that took part", output)
        for collective in ("all_reduce  32 B", "all_gather  64 B"):
            self.assertRegex(output, rf"{collective}  ring +1 ")

    def test_a_call_that_nobody_ended_is_on_the_way_it_began(self):
        def waits(rank, text):
            begun = text[:text.index("\nb ")]
            return begun + ("\np 7000 1\nlost 0 0\nend 2\n" if rank == 0 else "\nlost 0 0\nend 1\n")
        status, output, errors = rondo("trace", *hand_made("waits", change=waits))
        self.assertEqual(status, 0, errors)
        self.assertRegex(output, r"all_reduce  32 B  direct +1 ")


class Refusals(unittest.TestCase):
    def refused(self, words, *arguments):
        status, output, errors = rondo("trace", *arguments)
        self.assertEqual((status, output), (2, ""), errors)
        for word in words:
            self.assertIn(word, errors)

    def test_what_is_no_trace(self):
        stranger = folder / "stranger"
        stranger.write_text("hello\n")
        self.refused(["is not a trace of rondo", "RONDO_TRACE"], stranger)
        stranger.write_text("")
        self.refused(["is not a trace of rondo"], stranger)
        stranger.write_text("rondo trace 2\n")
        self.refused(["another version"], stranger)
        self.refused(["there is no trace", "RONDO_TRACE="], folder / "nothing")
        self.refused(["--html is empty"], stranger, "--html", "")

    def test_what_does_not_belong_together(self):
        paths = hand_made("twice")
        self.refused(["both of rank 0"], paths[0], paths[0])
        def other(rank, text):
            return text.replace("00c0ffee", "00decaff") if rank == 1 else text
        self.refused(["another run"], *hand_made("mixed", change=other))

    def test_times_that_overflow(self):
        """Sums of times must fit, so each time is refused long before."""
        most = 2 ** 63 - 1
        for old, new in (("base 0", f"base {most}"), ("base 0", f"base {most // 16 + 1}"),
                         ("B 1000 ", f"B {most} "), ("offset 5 6 7", f"offset {-most} 6 7"),
                         ("offset 5 6 7", f"offset 5 {most} 7"), ("offset 5 6 7", f"offset 5 6 {most}")):
            def change(rank, text, old=old, new=new):
                text = text.replace("base 0", "offset 5 6 7\nbase 0")
                assert old in text
                return text.replace(old, new) if rank == 1 else text
            with self.subTest(new):
                self.refused(["overflow.1", "line "], *hand_made("overflow", change=change))
        largest = hand_made("largest", offsets=[(0, -(most // 16), most // 16), (9000, most // 16, 1)])
        self.assertEqual(rondo("trace", *largest)[0], 0)

    def test_every_cut_is_seen(self):
        """A file that is cut off anywhere is refused, unless it has only its head, as a killed rank's."""
        paths = hand_made("cut")
        whole = paths[1].read_text()
        for size in range(0, len(whole) - 1, 7):
            paths[1].write_text(whole[:size])
            status, output, errors = rondo("trace", *paths)
            self.assertTrue(status == 2 and "'" in errors, (size, output, errors))

    def test_changed_lines_are_refused_or_said(self):
        """Whatever a line is changed to, the merger ends in words: nothing crashes."""
        paths = hand_made("changed")
        lines = paths[1].read_text().splitlines()
        refused = 0
        for number in range(1, len(lines)):
            for change in ("x", "-1", "999999999999999999999", ""):
                words = lines[number].split(" ")
                words[-1] = change
                changed = [*lines[:number], " ".join(words), *lines[number + 1:]]
                paths[1].write_text("\n".join(changed) + "\n")
                status, _, errors = rondo("trace", *paths)
                self.assertIn(status, (0, 2), (lines[number], change, errors))
                refused += status == 2
            paths[1].write_text("\n".join([*lines[:number], *lines[number + 1:]]) + "\n")
            self.assertIn(rondo("trace", *paths)[0], (0, 2), lines[number])
        self.assertGreater(refused, 40)


LATE = """\
2 ranks over tcp, 1 call in 8.3 us
Clocks: one, all ranks ran on one machine.

  call        size  path  count  median us  slowest us  is call  waiting
  all_reduce  32 B  ring      1        8.3         8.3        1     86 %

  rank  in calls us  waiting us  for others us  delayed others us  came last
  0             8.3         7.5            5.0                0.0          0
  1             3.3         2.5            0.0                5.0          1

Slowest rank: 1, for which others waited 5.0 us, 100 % of all waiting for late ranks.
Slowest link: 1 to 0, 1.6 us for each message that a rank waited for (2 messages, 32 B).
Slowest round: all_reduce, reduce-scatter round 1, 7.5 us on rank 0.
On average, the last rank came 5.0 us after the first.

Call 1: all_reduce #1, 8 x float32, ring, 8.3 us, begun at 0.0 us
  rank  came us  left us  worked us  waited us  for late ranks us
  0         0.0      8.3        0.8        7.5             1: 5.0
  1         5.0      8.3        0.8        2.5                  -
Slowest rank: 1, for which others waited 5.0 us, 100 % of all waiting for late ranks.
Slowest link: 1 to 0, 1.6 us for each message that a rank waited for (2 messages, 32 B).
Slowest round: all_reduce, reduce-scatter round 1, 7.5 us on rank 0.
"""

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
