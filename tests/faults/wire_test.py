#!/usr/bin/env python3
"""A bit that the wire flips is a wrong element, or an error, where nothing guards against it: so the
matrix would see one. Takes the folder of the programs."""
import dataclasses
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
import cells  # noqa: E402
import faults  # noqa: E402
import play  # noqa: E402
import verdict  # noqa: E402

SKIPPED = 77
PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()


def cell_of(name, **changes):
    """A cell of the table, with another fault."""
    [cell] = [cell for cell in cells.cells() if cell.name == name]
    return dataclasses.replace(cell, fault=dataclasses.replace(cell.fault, **changes))


class Wires(unittest.TestCase):
    def test_a_flipped_bit_is_seen(self):
        cell = cell_of("tcp/corrupt/all_reduce", prepare=faults.lay_wire)
        # A segment that TCP sends twice may have the bit where nobody reads it.
        for attempt in range(5):
            record, log = play.play(cell, cells.COLLECTIVES["all_reduce"], PROGRAMS, attempt, cells.TIMEOUT)
            if record["wrong"] or record["told"]:
                break
        self.assertTrue(record["wrong"] or record["told"], log)
        if record["wrong"]:
            self.assertNotEqual(verdict.complaints(record), [], log)

    def test_a_good_wire_is_a_cable(self):
        cell = cell_of("tcp/corrupt/all_reduce", prepare=faults.lay_wire, inject=lambda scene: faults.nothing)
        record, log = play.play(cell, cells.COLLECTIVES["all_reduce"], PROGRAMS, 9, cells.TIMEOUT)
        self.assertEqual(verdict.complaints(record), [], log)
        self.assertEqual(sorted(record["done"]), [0, 1, 2], log)


if __name__ == "__main__":
    if reason := faults.tools_missing():
        print(f"WARNING: NOTHING IS TESTED HERE: {reason}", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
