"""A resident job: ranks that wait on a socket without using the processor, and answer commands.

Every wait has a deadline. A job that hangs, dies or answers with an error raises JobFailure once
and is then gone: its processes are killed.
"""
import os
import pathlib
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import time

START_LIMIT = 60  # seconds until every rank has said hello
END_LIMIT = 3     # seconds until a job that was let go has ended


class JobFailure(Exception):
    """Says in words what became of the job."""


class Rank:
    """One rank's connection."""

    def __init__(self, connection):
        self.connection = connection
        self.received = b""
        self.pid = None
        self.handle = None  # of the process, which a reused pid cannot fool

    def line(self):
        """A whole line if there is one, after the socket became readable."""
        more = self.connection.recv(1 << 16)
        if not more:
            raise JobFailure(f"rank process {self.pid or ''} ended".replace("  ", " "))
        self.received += more
        line, end, rest = self.received.partition(b"\n")
        if not end:
            return None
        self.received = rest
        return line.decode()

    def close(self):
        self.connection.close()
        if self.handle is not None:
            os.close(self.handle)


def processor_ticks(pid):
    """User and system ticks of a process so far; nothing if it has gone."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def machine_ticks():
    """(ticks all cores were busy, ticks the host took away) so far."""
    fields = [int(word) for word in pathlib.Path("/proc/stat").read_text().split()[1:9]]
    user, nice, system, _, _, interrupts, soft_interrupts, stolen = fields
    return user + nice + system + interrupts + soft_interrupts, stolen


class Job:
    """make_processes(socket path, scratch folder) gives [(command, environment to add)]."""

    def __init__(self, name, ranks, make_processes):
        self.name = name
        self.version = ""
        self.idle_seconds = 0.0  # processor time of the ranks between commands
        self.foreign_seconds = 0.0  # of other processes during commands, of all cores together
        self.stolen_seconds = 0.0   # and what the host of a virtual machine took
        self._ranks = []
        self._launched = []
        self._scratch = tempfile.mkdtemp(prefix="compare-")
        self._ticks = None
        try:
            self._start(ranks, make_processes)
        except BaseException:
            self.kill()
            raise

    def ask(self, command, limit):
        """One reply from each rank, in the order of ranks."""
        self._count_idle()
        before, machine = self._all_ticks(), machine_ticks()
        for rank in self._ranks:
            try:
                rank.connection.sendall(f"{command}\n".encode())
            except OSError:
                raise self._failure(JobFailure("a rank has ended")) from None
        try:
            replies = self._collect(time.monotonic() + limit)
        except JobFailure as failure:
            raise self._failure(failure) from None
        self._ticks = self._all_ticks()
        self._count_foreign(self._ticks - before, machine)
        errors = [reply for reply in replies if not reply.startswith("done ")]
        if errors:
            raise self._failure(JobFailure(errors[0]))
        return replies

    def close(self):
        """Lets the job end by itself; kills what does not."""
        self._count_idle()
        for rank in self._ranks:
            rank.connection.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + END_LIMIT
        for process in self._launched:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                break
        self.kill()

    def kill(self):
        """Safe to call at any time and more than once."""
        for rank in self._ranks:
            if rank.handle is not None:
                try:
                    signal.pidfd_send_signal(rank.handle, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for process in self._launched:
            self._kill_group(process)
        for rank in self._ranks:
            rank.close()
        self._ranks, self._launched, self._ticks = [], [], None
        shutil.rmtree(self._scratch, ignore_errors=True)

    @staticmethod
    def _kill_group(process):
        if process.poll() is None:
            try:
                os.killpg(process.pid, signal.SIGTERM)  # lets mpirun clean up after itself
                process.wait(1)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def _start(self, ranks, make_processes):
        path = os.path.join(self._scratch, "socket")
        store = os.path.join(self._scratch, "store")
        os.mkdir(store)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(ranks)
            for command, extra in make_processes(path, store):
                self._launch(command, extra)
            try:
                self._meet(listener, ranks, time.monotonic() + START_LIMIT)
            except JobFailure as failure:
                raise JobFailure(f"did not start: {failure}{self._last_words()}") from None

    def _launch(self, command, extra):
        log = open(os.path.join(self._scratch, "log"), "ab")
        with log:
            self._launched.append(subprocess.Popen(
                command, env={**os.environ, **extra}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True, cwd=self._scratch))

    def _meet(self, listener, ranks, deadline):
        listener.settimeout(0.2)
        while len(self._ranks) < ranks:
            if any(process.poll() is not None for process in self._launched):
                raise JobFailure("it ended at once")
            if time.monotonic() > deadline:
                raise JobFailure(f"{len(self._ranks)} of {ranks} ranks within {START_LIMIT} s")
            try:
                self._ranks.append(Rank(listener.accept()[0]))
            except socket.timeout:
                pass
        hellos = [line.split(" ", 4) for line in self._collect(deadline)]
        for rank, hello in zip(self._ranks, hellos):
            rank.pid = int(hello[3])
            rank.handle = os.pidfd_open(rank.pid)
        numbers = [int(hello[1]) for hello in hellos]
        if sorted(numbers) != list(range(ranks)) or {int(hello[2]) for hello in hellos} != {ranks}:
            raise JobFailure(f"ranks {sorted(numbers)} came where {ranks} were started")
        self._ranks = [rank for _, rank in sorted(zip(numbers, self._ranks), key=lambda p: p[0])]
        self.version = " ".join(hellos[0][4].replace("Version:", "").split())

    def _collect(self, deadline):
        """One line from every rank."""
        lines = [None] * len(self._ranks)
        with selectors.DefaultSelector() as selector:
            for index, rank in enumerate(self._ranks):
                selector.register(rank.connection, selectors.EVENT_READ, index)
            while None in lines:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    missing = [index for index, line in enumerate(lines) if line is None]
                    raise JobFailure(f"hangs: no answer of ranks {missing} in time")
                for key, _ in ready:
                    lines[key.data] = self._ranks[key.data].line()
                    if lines[key.data] is not None:
                        selector.unregister(key.fileobj)
        return lines

    def _failure(self, failure):
        """Kills the job and adds what it said last."""
        words = self._last_words()
        self.kill()
        return JobFailure(f"{failure}{words}")

    def _last_words(self):
        try:
            text = pathlib.Path(self._scratch, "log").read_text(errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip(" -\t")]
        return ": " + " / ".join(lines[-4:]) if lines else ""

    def _all_ticks(self):
        return sum(processor_ticks(rank.pid) for rank in self._ranks)

    def _count_foreign(self, own, before):
        busy, stolen = (now - then for now, then in zip(machine_ticks(), before))
        self.foreign_seconds += max(0, busy - own) / os.sysconf("SC_CLK_TCK")
        self.stolen_seconds += stolen / os.sysconf("SC_CLK_TCK")

    def _count_idle(self):
        if self._ticks is not None:
            ticks = self._all_ticks() - self._ticks
            self.idle_seconds += max(0, ticks) / os.sysconf("SC_CLK_TCK")
            self._ticks = None
