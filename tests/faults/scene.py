"""Where a cell plays: a folder, hosts if it needs some, the job's ranks, and what stands around them."""
import os
import pathlib
import re
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "bench" / "hosts")]

import kernel  # noqa: E402
import running  # noqa: E402
from testbed import AGENT, FOLDER, Testbed  # noqa: E402

SECRET = "known to all ranks of this job"
HERE = pathlib.Path(__file__).resolve().parent
PORT = 29577
GRACE = 2  # rondorun's: seconds from SIGTERM to SIGKILL


class Scene:
    """A context manager. Behind it nothing is left of the job, of its hosts and of the strangers."""

    def __init__(self, cell, programs, number, timeout):
        self.cell, self.transport = cell, cell.transport
        self.victim = cell.transport.victim
        self.programs, self.timeout = programs, timeout
        self.name = f"faults-{os.getpid()}-{number}"
        self.environment, self.prefix = {}, {}  # `prefix`: words before a rank's program
        self.ranks = sum(self.transport.hosts) or 3
        self.commands, self.helpers, self.undo = [], [], []
        self.wire = None

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="faults-"))
        self.scratch = self.folder / "scratch"  # the job's own TMPDIR
        self.scratch.mkdir()
        self.end = self.folder / "end"
        self.shared_before = kernel.shared_files()
        self.testbed = None
        if self.transport.hosts:
            self.testbed = Testbed(self.transport.hosts, None, self.transport.ports, self.name)
            self.testbed.__enter__()
        return self

    def __exit__(self, *_):
        for command in self.commands + self.helpers:
            command.kill()
        if self.testbed:
            self.testbed.__exit__(None, None, None)
        for undo in self.undo:
            undo()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the job

    def start(self, work, more):
        """The script: work until the file `end` is there, then more."""
        script = ["up", "join", f"loop_until={self.end}:{work}", *more, "finalize", "say=done"]
        common = {**self.transport.environment, **self.environment, "TMPDIR": str(self.scratch),
                  "RONDO_TIMEOUT": str(self.timeout), "RONDO_SECRET": SECRET}
        program = str(self.programs / "job_rank_program")
        if self.transport.launcher:
            self.commands = [running.Running(
                self.programs / "rondorun", "--hosts", self.testbed.slots(), "--ssh", AGENT,
                "--grace", GRACE, program, *script, **common, TESTBED_NAME=self.name)]
        else:
            address = "10.77.0.1" if self.testbed else "127.0.0.1"
            self.commands = running.by_themselves(self.ranks, program, *script, address=address,
                                                  on=self.on, **common)

    def on(self, rank, *words):
        """The command that runs `words` where the rank is."""
        words = [*self.prefix.get(rank, []), *words]
        return self.testbed.on(self.host_of(rank), *words) if self.testbed else words

    def host_of(self, rank):
        return self.testbed.host_of_ranks()[rank] if self.testbed else 0

    def lines(self):
        """[(when it was read, line)] of the whole job."""
        return sorted(line for command in self.commands for line in command.lines())

    def wait_in_flight(self):
        """Every rank has made calls, and is in the next ones."""
        for rank in range(self.ranks):
            command = self.commands[0] if self.transport.launcher else self.commands[rank]
            command.wait_for(f"rank {rank} has made")

    def calls_since(self, when):
        """Whether every rank has made calls after this moment."""
        made = {int(found[1]) for time, line in self.lines()
                if time > when and (found := re.match(r"rank (\d+) has made", line))}
        return len(made) == self.ranks

    def pid(self, rank):
        text = "".join(line for _, line in self.lines())
        return int(re.search(rf"^up {rank} (\d+)$", text, re.M)[1])

    def at_fault(self):
        """The ranks of the victim's host; on this machine it alone."""
        return [rank for rank in range(self.ranks)
                if self.host_of(rank) == self.host_of(self.victim) and (self.testbed or rank == self.victim)]

    # ---- what stands around it

    def network(self, command, *words):
        """A command of tests/testbed/testbed on the victim's host, such as "cut"."""
        self.testbed.run(command, f"h{self.host_of(self.victim)}", *words)

    def help(self, *words, **environment):
        """A program that runs beside the job until the cell is over."""
        one = running.Running(*words, **environment)
        self.helpers.append(one)
        return one

    def strangers(self, kind):
        words = [sys.executable, HERE / "strangers.py", kind, *self.listening()]
        where = len(self.transport.hosts) - 1
        one = self.help(*(self.testbed.on(where, *words) if self.testbed else words))
        one.wait_for("here")

    def listening(self):
        """Every port and abstract Unix socket that ranks listen at."""
        found = []
        for rank in range(self.ranks):
            inodes = kernel.sockets_of(self.pid(rank))
            address = f"10.77.0.{self.host_of(rank) + 1}" if self.testbed else "127.0.0.1"
            found += [f"{address if own == '0.0.0.0' else own}:{port}"
                      for own, port, state, inode in kernel.connections(self.pid(rank), "tcp")
                      if state == kernel.LISTENS and inode in inodes]
            found += [f"unix:{name}" for inode, name in kernel.unix_listeners(self.pid(rank))
                      if inode in inodes]
        running.require(found, "no rank listens anywhere")
        return sorted(set(found))

    def launcher_of(self, rank):
        """The process of rondorun that serves the rank's host: its parent."""
        status = pathlib.Path(f"/proc/{self.pid(rank)}/status").read_text()
        return int(re.search(r"PPid:\s+(\d+)", status)[1])

    def left(self):
        """What the job has left behind, in words."""
        found = [f"process {process}" for command in self.commands for process in command.left()]
        found += [f"file {path.name}" for path in self.scratch.iterdir()]
        found += [f"shared memory {name}" for name in kernel.shared_files() - self.shared_before]
        if self.testbed:
            for host in range(self.testbed.hosts):
                shown = running.Running(*self.testbed.on(host, "cat", "/proc/net/tcp")).require_success()
                found += [f"socket {own}:{port} of h{host}"
                          for own, port, state, _ in kernel.parsed(shown)
                          if state in (kernel.LISTENS, kernel.STANDS)]
        return found
