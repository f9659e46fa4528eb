#!/usr/bin/env python3
"""Animated pictures: `rondo explain --svg` writes what the schedule does, and refuses what it cannot.

    svg_test.py RONDO FOLDER
"""

import pathlib
import re
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from support import Refusing, algorithms, folder, rondo

COMMITTED = pathlib.Path(__file__).parents[3] / "tools" / "rondo" / "page" / "ring.svg"
SVG = "{http://www.w3.org/2000/svg}"


def svg_of(*arguments):
    status, output, errors = rondo("explain", *arguments, "--svg", "-")
    assert status == 0, errors
    return output


def sends_of(collective, algorithm, ranks):
    text = rondo("schedule", collective, "-a", algorithm, "-n", ranks)[1]
    return len(re.findall(r"^\s*send ", text, re.MULTILINE))


def with_class(root, name):
    return [each for each in root.iter() if name in each.get("class", "").split()]


def rectangle(each):
    x, y, width, height = (float(each.get(name)) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def within(inner, outer):
    return all(inner[i] >= outer[i] and inner[i + 2] <= outer[i + 2] for i in (0, 1))


def apart(one, other):
    return any(one[i + 2] < other[i] or other[i + 2] < one[i] for i in (0, 1))


class Pictures(unittest.TestCase):
    def check(self, collective, algorithm, ranks):
        """Well-formed; one moving element for each message; every class has its key frames."""
        text = svg_of(collective, "-a", algorithm, "-n", ranks)
        root = ElementTree.fromstring(text)
        self.assertEqual(root.tag, SVG + "svg")
        self.assertEqual(len(with_class(root, "m")), sends_of(collective, algorithm, ranks))
        self.assertEqual(len(with_class(root, "box")), ranks)
        frames = set(re.findall(r"@keyframes (\w+)", text))
        moving = {name for each in root.iter() for name in each.get("class", "").split()
                  if re.fullmatch(r"[ms]\d+", name)}
        self.assertEqual(moving - frames, set())
        percents = [float(each) for each in re.findall(r"([\d.]+)%", text)]
        self.assertLessEqual(max(percents), 100)
        return text

    def test_every_algorithm(self):
        for collective, names in algorithms().items():
            for name in names:
                for ranks in (2, 5):
                    with self.subTest(collective=collective, algorithm=name, ranks=ranks):
                        self.check(collective, name, ranks)

    def test_ranks_stand_in_their_hosts(self):
        for hosts, sizes in (("2x4", [4, 4]), ("4x2", [2] * 4), ("3+5", [3, 5]), ("1+7", [1, 7]),
                             ("4x4", [4] * 4), ("3x1", [1] * 3)):
            with self.subTest(hosts=hosts):
                root = ElementTree.fromstring(
                    svg_of("all_reduce", "-a", "hierarchical(ring,two_shot)", "--hosts", hosts))
                frames, boxes = ([rectangle(each) for each in with_class(root, name)]
                                 for name in ("host", "box"))
                picture = (0, 0, float(root.get("width")), float(root.get("height")))
                first = 0
                for number, (frame, size) in enumerate(zip(frames, sizes, strict=True)):
                    self.assertTrue(within(frame, picture))
                    self.assertTrue(all(apart(frame, other) for other in frames[:number]))
                    for rank, box in enumerate(boxes):
                        own = first <= rank < first + size
                        self.assertTrue((within if own else apart)(box, frame), (number, rank))
                    first += size
                words = [each.text for each in root.iter(SVG + "text")]
                self.assertIn(f"host {len(sizes) - 1}", words)
                self.assertIn(f"{sum(sizes)} ranks on {len(sizes)} hosts", words)

    def test_one_host_is_no_box(self):
        ring = ["all_reduce", "-a", "ring"]
        self.assertEqual(svg_of(*ring, "--hosts", "4"), svg_of(*ring, "-n", 4))

    def test_the_largest(self):
        for collective, name in (("all_reduce", "ring"), ("all_reduce", "double_tree"),
                                 ("all_to_all", "bruck"), ("barrier", "dissemination")):
            with self.subTest(collective=collective, algorithm=name):
                self.check(collective, name, 16)

    def test_is_small_and_whole(self):
        ring = svg_of("all_reduce", "-a", "ring", "-n", 4)
        self.assertLess(len(ring), 40_000)
        self.assertNotRegex(ring, r"<script|href|url\((?!#tip)|@import")
        self.assertEqual(ring, svg_of("all_reduce", "-a", "ring", "-n", 4))
        for words in ("reduce-scatter", "all-gather", "round 3 of 3", ">a 1+2+3<", ">d all<"):
            self.assertIn(words, ring)

    def test_the_committed_picture_is_what_rondo_writes(self):
        self.assertEqual(
            COMMITTED.read_text(), svg_of("all_reduce", "--algorithm", "ring", "--ranks", 4),
            "make it again: rondo explain all_reduce --algorithm ring --ranks 4 --svg "
            "tools/rondo/page/ring.svg")

    def test_writes_a_file(self):
        path = folder / "ring.svg"
        status, output, _ = rondo("explain", "all_reduce", "-n", 3, "--svg", path)
        self.assertEqual(status, 0)
        self.assertRegex(output, rf"wrote {path}, \d+ KB")
        self.assertEqual(path.read_text(), svg_of("all_reduce", "-n", 3))

    def test_shows_a_schedule_of_ones_own(self):
        text = ('collective broadcast\nalgorithm "</title>&"\nranks 2\nphases "<go>"\n'
                "rank 0\nsend input[0] to 1\ncopy input[0] into output[0]\n"
                "rank 1\nreceive from 0 into output[0]\n")
        status, output, errors = rondo("explain", "--file", "-", "--svg", "-", text=text)
        self.assertEqual(status, 0, errors)
        root = ElementTree.fromstring(output)
        self.assertEqual(len(with_class(root, "m")), 1)
        self.assertIn("<go>", [each.text for each in root.iter(SVG + "text")])


class Refusals(Refusing):
    def test_what_is_too_large(self):
        self.refused(["17 ranks are too many", "at most 16", "--html"], "all_reduce", "-n", 17,
                     "--svg", "-")
        self.refused(["33 chunks are too many", "at most 32"], "--file", "-", "--svg", "-",
                     text="collective broadcast\nranks 2\nparts 33\n")

    def test_what_is_wrong_or_does_not_move(self):
        self.refused(["the schedule is wrong: ", "rondo verify"], "--file", "-", "--svg", "-",
                     text="collective broadcast\nranks 2\n")
        self.refused(["no rank sends", "two ranks or more"], "all_reduce", "-n", 1, "--svg", "-")

    def test_what_does_not_go_together(self):
        for other in (["--html", "x.html"], ["--count", 4], ["--values"],
                      ["--width", 60], ["--compare", "ring"]):
            self.refused(["--svg", other[0]], "all_reduce", "--svg", "-", *other)
        self.refused(["--svg is empty"], "all_reduce", "--svg", "")

    def test_files_that_cannot_be_written(self):
        self.refused(["cannot write", "no/folder"], "all_reduce", "--svg", folder / "no/folder/x")
        self.refused(["cannot write '/dev/full'"], "all_reduce", "--svg", "/dev/full")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
