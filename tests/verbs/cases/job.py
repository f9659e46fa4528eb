"""Jobs of several ranks: started, watched, ended."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from place import CLOCK, Failure, require, wait_until
from ports import free_port

# After so long a command counts as hung. Emulated processors are slow, and shared by all ranks.
HANG_SECONDS = 150

FAILURE = re.compile(r"^rank (\d+) fails (\w+) (-?\d+) after ([\d.]+) s: ", re.MULTILINE)


class Running:
    """A command and the lines it writes."""

    def __init__(self, words, environment):
        self._words = words
        self._text = ""
        self._begin = CLOCK.now()
        self._process = subprocess.Popen(
            words, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._text += line

    @property
    def text(self):
        return self._text

    @property
    def log(self):
        return f"$ {' '.join(map(str, self._words))}\n{self._text}"

    def wait_for(self, part, count=1):
        def there():
            return self._text.count(part) >= count or self.has_ended()
        in_time = wait_until(there, HANG_SECONDS)
        if self._text.count(part) < count:
            self.kill()
            raise Failure(f"'{part}' was not said {count} times" if in_time else
                          f"'{part}' was not said {count} times within {HANG_SECONDS} s", self.log)

    def status(self, seconds=HANG_SECONDS):
        """The exit status of the command, which must end in so many seconds."""
        if not wait_until(lambda: self._process.poll() is not None, seconds):
            self.kill()
            raise Failure(f"did not end within {seconds} s", self.log)
        self._reader.join(10)
        return self._process.returncode

    def has_ended(self):
        return self._process.poll() is not None

    def kill(self):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._reader.join(10)

    def send_signal(self, number):
        self._process.send_signal(number)

    def require_success(self):
        status = self.status()
        require(status == 0, f"ended with status {status}", self.log)
        return self.text


class Jobs:
    """Starts jobs of the programs in `folder`, over `transport`."""

    def __init__(self, folder, transport):
        self.folder = folder
        self.transport = transport

    def program(self, name):
        return str(self.folder / name)

    def run(self, name, *words, **environment):
        """Runs a program by itself to its end, and returns its output."""
        return Running([self.program(name), *words], environment).require_success()

    def start(self, ranks, *words, **environment):
        """Starts rondorun with so many ranks of a program."""
        return Running([self.program("rondorun"), "-n", str(ranks), *words],
                       {"RONDO_TRANSPORT": self.transport, **environment})

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
        """Starts the ranks without a launcher, which would end the others once one of them has ended."""
        port = free_port()
        return [Running([self.program("job_rank_program"), *script],
                        {"RONDO_TRANSPORT": self.transport, "RANK": str(rank),
                         "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
                         "MASTER_PORT": str(port), **environment_of(rank)})
                for rank in range(ranks)]


def failure_of(running):
    """(code, peer, text) of the error that a rank program ended with."""
    found = FAILURE.search(running.text)
    require(found, "the rank has not ended with an error", running.log)
    return found[2], int(found[3]), running.text[found.start():]
