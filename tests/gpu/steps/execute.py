"""Runs commands within a time limit and collects their output."""

import dataclasses
import json
import os
import signal
import subprocess
import tempfile
import time

TOO_LONG = 124  # the status of a command that had to be ended


@dataclasses.dataclass
class Done:
    """A command that has ended. `lines`: the JSON objects among what it wrote, one a line."""
    status: int
    text: str
    lines: list
    seconds: float


def json_lines(text):
    lines = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue  # a tool's own words
        if isinstance(value, dict):
            lines.append(value)
    return lines


def end(process):
    """Ends the process, with all that it started in its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def execute(command, environment, limit, given=None):
    """Runs a command for at most `limit` seconds; nothing of it is left behind."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        try:
            process = subprocess.Popen(list(map(str, command)), text=True, stdout=said,
                                       stderr=subprocess.STDOUT, env=environment,
                                       stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
                                       start_new_session=True)
        except OSError as error:
            return Done(127, f"{command[0]}: {error.strerror}", [], 0.0)
        try:
            process.communicate(given, timeout=max(limit, 0.1))
            status, words = process.returncode, ""
        except subprocess.TimeoutExpired:
            status, words = TOO_LONG, f"\nended: it was not done within {limit:.0f} s\n"
        finally:
            end(process)
        said.seek(0)
        text = said.read() + words
    return Done(status, text, json_lines(text), time.monotonic() - begin)
