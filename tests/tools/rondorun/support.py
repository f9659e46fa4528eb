"""What the tests of rondorun share."""
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from jobs import RONDORUN, Job  # noqa: E402

RANK = pathlib.Path(__file__).with_name("rank_program.py")
# For --ssh: drops the host's name and runs the rest here, after printing what login shells print.
STAND_IN = "sh -c 'echo Welcome; exec \"$@\"'"


def job(options, *behaviour):
    """rondorun with these options, and the rank program with its arguments."""
    return [RONDORUN, *options, RANK, *behaviour]


def started(ranks, options, *behaviour, **more):
    """A job whose ranks are all up."""
    one = Job(*job(options, *behaviour), **more)
    one.wait_for("up ", ranks)
    return one


def lines_of(text):
    """Sorted: ranks write in any order."""
    return sorted(text.splitlines())


def parent_of(process):
    return int(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def state_of(process):
    return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def flood(rank, lines):
    """What the rank program's `flood` writes."""
    return [f"{rank} {line} {'x' * (line % 97)}." for line in range(lines)]


def kill(process, number):
    os.kill(process, number)
