#!/usr/bin/env python3
"""The newest version in tools/CHANGES.md is that of the headers; mutations of both are noticed."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHANGES = (ROOT / "tools/CHANGES.md").read_text(encoding="utf-8")
HEADER = (ROOT / "core/include/rondo/version.h").read_text(encoding="utf-8")


def complaints(changes, header):
    """About the text of the page and of version.h."""
    version = [int(number) for number in re.findall(r"^#define RONDO_VERSION_\w+ (\d+)$", header, re.M)]
    parts = re.split(r"^## (.*)\n", changes, flags=re.M)
    headings, texts = parts[1::2], parts[2::2]
    versions = [[int(number) for number in heading.split(".")] for heading in headings
                if re.fullmatch(r"\d+\.\d+\.\d+", heading)]
    if len(versions) != len(headings) or not versions:
        yield f"these headings are no versions MAJOR.MINOR.PATCH: {headings}"
    elif versions[0] != version:
        yield f"the newest heading is {headings[0]}, but version.h has {version}"
    if any(newer <= older for newer, older in zip(versions, versions[1:])):
        yield f"the newest does not come first: {headings}"
    for heading, text in zip(headings, texts):
        if not re.search(r"^- \w", text, re.M):
            yield f"{heading} lists no change"


class ChangesTest(unittest.TestCase):
    def test_the_page_is_right(self):
        self.assertEqual(list(complaints(CHANGES, HEADER)), [])

    def test_another_version_in_the_headers_is_noticed(self):
        for part in ("MAJOR", "MINOR", "PATCH"):
            raised = re.sub(rf"({part}) (\d+)", lambda found: f"{found[1]} {int(found[2]) + 1}", HEADER)
            self.assertEqual(len(list(complaints(CHANGES, raised))), 1, part)

    def test_another_version_on_the_page_is_noticed(self):
        first = re.search(r"^## (.*)\n", CHANGES, re.M)
        newer = CHANGES.replace(first[0], "## 99.0.0\n\n- a change\n\n" + first[0])
        self.assertEqual(len(list(complaints(newer, HEADER))), 1)
        without = CHANGES.replace(first[0], "## Next\n")
        self.assertTrue(list(complaints(without, HEADER)))
        self.assertTrue(list(complaints("# Changes\n", HEADER)))

    def test_the_newest_comes_first_and_each_lists_a_change(self):
        older = CHANGES + "\n## 99.0.0\n\n- a change\n"
        self.assertEqual(len(list(complaints(older, HEADER))), 1)
        empty = CHANGES + "\n## 0.0.1\n\nNothing.\n"
        self.assertEqual(len(list(complaints(empty, HEADER))), 1)


if __name__ == "__main__":
    unittest.main()
