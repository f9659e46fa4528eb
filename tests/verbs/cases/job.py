"""Jobs of several ranks over the devices."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from jobs import FAILURE
from running import Running, by_themselves, require


class Jobs:
    """Starts jobs of the programs in `folder`, over `transport`."""

    def __init__(self, folder, transport):
        self.folder = folder
        self.transport = transport

    def program(self, name):
        return str(self.folder / name)

    def run(self, name, *words, **environment):
        """Runs a program by itself to its end, and returns its output."""
        return Running(self.program(name), *words, **environment).require_success()

    def start(self, ranks, *words, **environment):
        """Starts rondorun with so many ranks of a program."""
        return Running(self.program("rondorun"), "-n", ranks, *words,
                       **{"RONDO_TRANSPORT": self.transport, **environment})

    def ranks(self, ranks, *script, **environment):
        """Runs ranks that do as the script says (tests/job/rank_program.cc) to their end, and returns
        their output."""
        job = self.start(ranks, self.program("job_rank_program"), *script, **environment)
        return job.require_success()

    def measured(self, ranks, name, *options, **environment):
        """Runs a bench program, which checks its results, and returns its output."""
        text = self.start(ranks, self.program(name), *options, **environment).require_success()
        require("Out of bounds values : 0 OK" in text, f"{name} has not checked its results", text)
        return text

    def alone(self, ranks, *script, environment_of=lambda rank: {}):
        """Starts the ranks without a launcher."""
        return by_themselves(ranks, self.program("job_rank_program"), *script,
                             environment_of_rank=environment_of, RONDO_TRANSPORT=self.transport)


def failure_of(running):
    """(code, peer, text) of the error that a rank program ended with."""
    found = FAILURE.search(running.text)
    require(found, "the rank has not ended with an error", running.log)
    return found[2], int(found[3]), running.text[found.start():]
