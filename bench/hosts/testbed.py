"""The testbed of a run: hosts h0, h1, ... with limited links, gone when the run is."""
import os
import pathlib
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "testbed"
AGENT = FOLDER / "agent"


class Unable(Exception):
    """Why there is no testbed on this machine."""


class Testbed:
    """A context manager."""

    def __init__(self, ranks_on, rate, ports=1, name=None, cables=None):
        """`ranks_on`: how many ranks each host has. `rate`: of each link, or of each host's, with commas;
        None: unlimited. `cables`: "0-1,1-2", instead of a switch."""
        self.ranks_on, self.rate, self.ports = ranks_on, rate, ports
        self.hosts, self.ranks = len(ranks_on), sum(ranks_on)
        self.cables = cables
        self.name = name or f"bench-{os.getpid()}"

    def __enter__(self):
        limit = ["--rate", self.rate] if self.rate else []
        limit += ["--cables", self.cables] if self.cables else []
        self.run("up", "--hosts", str(self.hosts), *limit, "--interfaces", str(self.ports),
                 "--owner", str(os.getpid()))
        return self

    def __exit__(self, kind, value, trace):
        self.run("down")

    def slots(self):
        """"h0:4,h1:4", as launchers take it."""
        return ",".join(f"h{host}:{ranks}" for host, ranks in enumerate(self.ranks_on) if ranks)

    def host_of_ranks(self):
        """Each rank's host."""
        return [host for host, ranks in enumerate(self.ranks_on) for _ in range(ranks)]

    def interfaces(self):
        """"eth0,eth1": those with limited links."""
        return ",".join(f"eth{port}" for port in range(self.ports))

    def on(self, host, *words):
        """The command that runs `words` on a host."""
        return [str(FOLDER / "testbed"), "run", "--name", self.name, f"h{host}", *map(str, words)]

    def run(self, command, *words):
        """A command of tests/testbed/testbed, such as "cut"."""
        done = subprocess.run([FOLDER / "testbed", command, "--name", self.name, *words],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Unable(done.stderr.strip())
