"""The testbed of a run: hosts h0, h1, ... with limited links, gone when the run is."""
import os
import pathlib
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "testbed"
AGENT = FOLDER / "agent"
INTERFACE = "eth0"


class Unable(Exception):
    """Why there is no testbed on this machine."""


class Testbed:
    """A context manager."""

    def __init__(self, hosts, rate, ranks_per_host=1):
        self.hosts, self.rate, self.ranks_per_host = hosts, rate, ranks_per_host
        self.ranks = hosts * ranks_per_host
        self.name = f"bench-{os.getpid()}"

    def __enter__(self):
        self._run("up", "--hosts", str(self.hosts), "--rate", self.rate, "--owner",
                  str(os.getpid()))
        return self

    def __exit__(self, kind, value, trace):
        self._run("down")

    def names(self):
        return [f"h{host}" for host in range(self.hosts)]

    def slots(self):
        """"h0:4,h1:4", as launchers take it."""
        return ",".join(f"{host}:{self.ranks_per_host}" for host in self.names())

    def on(self, host, *words):
        """The command that runs `words` on a host."""
        return [str(FOLDER / "testbed"), "run", "--name", self.name, f"h{host}", *map(str, words)]

    def _run(self, command, *words):
        done = subprocess.run([FOLDER / "testbed", command, "--name", self.name, *words],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Unable(done.stderr.strip())
