"""The report of a run: its table, and every record."""
import datetime
import json
import pathlib
import subprocess
import sys

import cells
import verdict

FOLDER = pathlib.Path(__file__).resolve().parent


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=FOLDER, capture_output=True,
                          text=True, check=False)
    return done.stdout.strip()


COMMIT = commit()  # at the beginning: the report itself changes the tree


def summary(results):
    bad = sum(map(verdict.is_bad, results))
    skipped = sum("skipped" in result for result in results)
    return f"{len(results) - bad - skipped} cells are good, {bad} are bad, {skipped} were not run"


def grouped_reasons():
    """[("shm/cut, shm/deaf", "memory has no cable")]"""
    groups = {}
    for transport, fault, why in cells.reasons():
        groups.setdefault(why, []).append(f"{transport}/{fault}")
    return [(", ".join(names), why) for why, names in groups.items()]


def text(results):
    meanings = [f"- {fault.name}: {fault.text}" for fault in cells.FAULTS]
    words = " ".join(["tests/faults/run", *sys.argv[1:]])
    return "\n".join([f"Command: {words}", f"{datetime.date.today():%d %B %Y}, commit {COMMIT}.",
                      summary(results), "", *meanings, "", verdict.table(results), "",
                      *(f"No {name}: {why}." for name, why in grouped_reasons()), ""])


def write(file, results):
    """The table, and beside it FILE.json with every record, one a line."""
    file.write_text(text(results))
    kept = [json.dumps({name: value for name, value in result.items() if name != "log"})
            for result in results]
    file.with_suffix(".json").write_text(
        f'{{"commit": "{COMMIT}", "cells": [\n' + ",\n".join(kept) + "\n]}\n")
