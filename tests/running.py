"""Commands that tests start, watch and end: programs, launchers, ranks."""
import fcntl
import itertools
import os
import pathlib
import pty
import signal
import subprocess
import termios
import threading
import time

from ports import free_port

# After so long a command counts as hung. Sanitizers and emulated processors are slow, and ranks share them.
HANG_SECONDS = 600
PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


class Failure(AssertionError):
    """What went wrong, with the log that shows it."""


def require(condition, text, log=""):
    if not condition:
        raise Failure(f"{text}\n{log}" if log else text)


class Clock:
    """Seconds since the start, without those in which the whole machine stood still. The host of a virtual
    machine may stop it, and its clock jumps when it goes on."""

    LONGEST_TICK = 2.0

    def __init__(self):
        self._seconds = 0.0
        self._frozen = 0.0
        self._last = time.monotonic()
        self._lock = threading.Lock()
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self):
        while True:
            time.sleep(0.2)
            self.now()

    def now(self):
        with self._lock:
            now = time.monotonic()
            tick = min(now - self._last, self.LONGEST_TICK)
            self._seconds += tick
            self._frozen += now - self._last - tick
            self._last = now
            return self._seconds

    def frozen(self):
        """Seconds left out so far."""
        self.now()
        return self._frozen


CLOCK = Clock()


def wait_until(condition, seconds=HANG_SECONDS):
    """Whether the condition came true in time."""
    end = CLOCK.now() + seconds
    while not condition():
        if CLOCK.now() > end:
            return False
        time.sleep(0.02)
    return True


def clean_environment(**more):
    """This process's variables without a rank's place in another job."""
    return {name: value for name, value in os.environ.items() if name not in PLACE} | more


def heed_interrupts():
    """Restores what is ignored if the tests run in the background of a shell, or under nohup."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def take_terminal():
    heed_interrupts()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Running:
    """A command in a session of its own, and what it writes to either stream. Usable in `with`: behind the
    block nothing runs that it has started, even in other sessions (torchrun gives each rank one).
    `apart`: its standard error is not in `text`, but in `error`. `terminal`: all its streams are one."""

    numbers = itertools.count()

    def __init__(self, *words, cwd=None, apart=False, terminal=False, **environment):
        self._words = list(map(str, words))
        self._parts, self._errors = [], []
        self.times = []  # when each line was read, by CLOCK
        name, value = "PART_OF_COMMAND", f"{os.getpid()}-{next(self.numbers)}"
        self._mark = f"{name}={value}"
        pipe = subprocess.PIPE
        streams = {"stdin": pipe, "stdout": pipe, "stderr": pipe if apart else subprocess.STDOUT}
        if terminal:
            keyboard, own = pty.openpty()
            streams = dict.fromkeys(streams, own)
        self._process = subprocess.Popen(
            self._words, env=clean_environment(**environment, **{name: value}), cwd=cwd, text=True,
            errors="replace", **streams, start_new_session=True,
            preexec_fn=take_terminal if terminal else heed_interrupts)
        self.pid = self._process.pid
        if terminal:
            os.close(own)
            self._input = os.fdopen(keyboard, "w", closefd=False)
            readers = [(self._read_terminal, keyboard)]
        else:
            self._input = self._process.stdin
            readers = [(self._read, self._process.stdout, self._parts, self.times)]
            readers += [(self._read, self._process.stderr, self._errors, [])] if apart else []
        self._readers = [threading.Thread(target=read, args=what, daemon=True) for read, *what in readers]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream, parts, times):
        with stream as lines:
            for line in lines:
                parts.append(line)
                times.append(CLOCK.now())

    def _read_terminal(self, keyboard):
        """Lines need not be complete there. Its end is an error."""
        try:
            while part := os.read(keyboard, 65536):
                self._parts.append(part.decode(errors="replace"))
        except OSError:
            pass
        os.close(keyboard)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def text(self):
        return "".join(self._parts)

    @property
    def error(self):
        return "".join(self._errors)

    def lines(self):
        """[(when it was read, line)]"""
        return list(zip(self.times, self._parts))

    @property
    def log(self):
        return f"$ {' '.join(self._words)}\n{self.text}{self.error}"

    def wait_for(self, part, count=1):
        """Waits until it has written `part` so many times."""
        in_time = wait_until(lambda: self.text.count(part) >= count or self.has_ended())
        if in_time:
            self._join_if_ended()
        if self.text.count(part) < count:
            self.kill()
            raise Failure(f"'{part}' was not said {count} times" if in_time else
                          f"'{part}' was not said {count} times within {HANG_SECONDS} s", self.log)

    def wait_until(self, condition, what):
        if not wait_until(condition):
            self.kill()
            raise Failure(f"waited in vain for {what}", self.log)

    def type(self, text):
        self._input.write(text)
        self._input.flush()

    def tell(self, line):
        self.type(line + "\n")

    def status(self, seconds=HANG_SECONDS):
        """The exit status of the command, which must end in so many seconds. It can read no more lines."""
        self._input.close()
        if not wait_until(self.has_ended, seconds):
            self.kill()
            raise Failure(f"did not end within {seconds} s", self.log)
        self._join_if_ended()
        return self._process.returncode

    def _join_if_ended(self):
        """All that it wrote has been read. Children that it left behind may still hold its stream."""
        if self.has_ended():
            for reader in self._readers:
                reader.join(10)

    def has_ended(self):
        return self._process.poll() is not None

    def send_signal(self, number):
        self._process.send_signal(number)

    def send_signal_to_all(self, number):
        """To every process of the session, as a terminal does."""
        os.killpg(self.pid, number)

    def left(self):
        """The running processes that it has started, in whatever session."""
        return self.left_with(self._mark)

    @staticmethod
    def left_with(variable):
        """The running processes that began with this "NAME=VALUE"."""
        return [process for process in map(int, filter(str.isdigit, os.listdir("/proc")))
                if variable.encode() in environment_of(process)]

    def _kill_some(self):
        """How many there were to kill."""
        found = self.left()
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return len(found)

    def kill(self):
        self._process.kill()  # it may hide its environment, as sshd does
        wait_until(lambda: self._kill_some() == 0, 30)
        self._process.wait()
        self._input.close()
        self._join_if_ended()

    def require_success(self):
        status = self.status()
        require(status == 0, f"ended with status {status}", self.log)
        return self.text


def environment_of(process):
    """The variables that a process began with; none of one that has ended."""
    try:
        return pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def places(ranks, address="127.0.0.1"):
    """The variables by which ranks find each other without a launcher, for each rank. `address`: where
    rank 0 is."""
    port = str(free_port())
    return [{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
             "MASTER_ADDR": address, "MASTER_PORT": port} for rank in range(ranks)]


def by_themselves(ranks, *words, environment_of_rank=lambda rank: {}, address="127.0.0.1",
                  on=lambda rank, *words: words, **environment):
    """The ranks of a job without a launcher, which would end the others once one of them has ended.
    `on`: the command that runs words where a rank is, such as on a host of its own."""
    return [Running(*on(rank, *words), **environment, **place, **environment_of_rank(rank))
            for rank, place in enumerate(places(ranks, address))]


def end_all(commands):
    """[(status, text)] of each, once all have ended. None is left behind."""
    try:
        return [(command.status(), command.text) for command in commands]
    finally:
        for command in commands:
            command.kill()
