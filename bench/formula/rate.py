#!/usr/bin/env python3
"""What a link of a testbed carries in one TCP stream, as JSON [GB/s, what measured it]: rate.py NAME

It is a program of its own, so that --measure-with's words stand before both ends of the stream.
"""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hosts"))
import link  # noqa: E402
from testbed import FOLDER  # noqa: E402


class There:
    """A testbed that another process made."""

    def __init__(self, name):
        self._name = name

    def on(self, host, *words):
        return [str(FOLDER / "testbed"), "run", "--name", self._name, f"h{host}", *map(str, words)]


if __name__ == "__main__":
    print(json.dumps(link.payload_rate(There(sys.argv[1]))))
