#!/usr/bin/env python3
"""symbols_test.py names each symbol that goes, that comes, or that programs can no longer replace."""

import unittest

import symbols_test

NAMES = ["ncclAllReduce", "ncclSend"]
RIGHT = {"ncclAllReduce": "W", "ncclSend": "W", "pncclAllReduce": "T", "pncclSend": "T",
         **{name: "T" for name in symbols_test.INTERNAL}}


class SymbolsMutationTest(unittest.TestCase):
    def test_what_is_listed_is_right(self):
        self.assertEqual(symbols_test.differences(NAMES, RIGHT), [])

    def test_mutations(self):
        for name in RIGHT:
            gone = {other: kind for other, kind in RIGHT.items() if other != name}
            for mutated in (gone, RIGHT | {name: "V"}):
                self.assertEqual(len(symbols_test.differences(NAMES, mutated)), 1)
        self.assertEqual(len(symbols_test.differences(NAMES, RIGHT | {"rondo": "T"})), 1)


if __name__ == "__main__":
    unittest.main()
