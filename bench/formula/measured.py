"""What rondo's own programs measure and predict, on the hosts of a testbed."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from testbed import AGENT

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
LIMIT = 300  # seconds for one measurement


class Failure(Exception):
    """A program did not do what it was asked for."""


def size_of(text):
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match:
        raise Failure(f"'{text}' is not a size; write 8, 64K or 1M")
    return int(match.group(1)) * UNITS[match.group(2)]


def bytes_of(number, unit):
    """The bytes of a size such as "1.5 MiB", as rondo's tables write it."""
    return float(number) * (1 << {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[unit])


def processor_ticks():
    """(idle, all) ticks of this machine's processors together since it started. A processor that the
    host gives to another machine is not idle."""
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    ticks = [int(word) for word in words[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


class Programs:
    def __init__(self, folder, testbed, words_before, slice_bytes):
        self._folder, self._testbed, self._before = folder, testbed, words_before
        self._slice = slice_bytes

    def congestion_control(self):
        """The congestion control of TCP between the hosts."""
        words = self._testbed.on(0, "cat", "/proc/sys/net/ipv4/tcp_congestion_control")
        return subprocess.run(words, capture_output=True, text=True).stdout.strip()

    def version(self):
        return "rondo at " + subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
            cwd=pathlib.Path(__file__).parent).stdout.strip()

    def slice_bytes(self, algorithm, size):
        """The size of the slices into which rondo cuts each chunk of the call between hosts."""
        text = self._output(
            [str(self._folder / "rondo"), "why", "all_reduce", str(size), "--ranks",
             str(self._testbed.hosts), "--apart", "--transport", "tcp", "--algorithm", algorithm],
            self._settings())
        found = re.search(r"^slices .*?(?:each of up to|chunk has) ([\d.]+) (\w+)", text, re.M)
        if not found:
            raise Failure(f"rondo why says: {text}")
        return bytes_of(found.group(1), found.group(2))

    def prediction(self, algorithm, size, model):
        """{algorithm, bytes, slice, simulated, link_bytes}: seconds by the simulator, and what the
        schedule sends over the busiest link."""
        cut = self.slice_bytes(algorithm, size)
        # The simulator takes up to 4096 slices of a chunk. Where there are thousands, slices twice as
        # long change a time by less than a thousandth.
        simulated = max(cut, size / self._testbed.hosts / 2048)
        words = [str(self._folder / "rondo"), "simulate", "all_reduce", "--algorithm", algorithm,
                 "--ranks", str(self._testbed.hosts), "--bytes", str(size),
                 "--slice", str(int(simulated)), "--switch"]
        for name, value in ((name, model[name]) for name in ("alpha", "beta", "gamma")):
            words += [f"--{name}", repr(value)]
        line = self._output(words, {}).splitlines()[-1]
        found = re.match(rf"{algorithm}\s+([\d.]+)\s+[\d.]+x\s+\d+\s+([\d.]+) (\w+)", line)
        if not found:
            raise Failure(f"rondo simulate says: {line}")
        return {"algorithm": algorithm, "bytes": size, "slice": cut,
                "simulated": float(found.group(1)) * 1e-6,
                "link_bytes": bytes_of(found.group(2), found.group(3))}

    def payload_rate(self):
        """(GB/s that one TCP stream carries over a link, what measured it)."""
        return json.loads(self._output(
            [*self._before, sys.executable, str(pathlib.Path(__file__).with_name("rate.py")),
             self._testbed.name], {}))

    def message_seconds(self):
        """Seconds of a message of 8 bytes from every host to the next."""
        return self._perf("sendrecv_perf", 8, 2000, [])

    def all_reduce(self, algorithm, size, expected):
        """{seconds, idle}: the seconds of a call, and the idle part of the processors' time meanwhile,
        with the start of the job."""
        calls = max(1, min(20, int(0.5 / expected)))
        idle, every = processor_ticks()
        seconds = self._perf("all_reduce_perf", size, calls, ["--algorithm", algorithm])
        idle_after, every_after = processor_ticks()
        return {"seconds": seconds, "idle": (idle_after - idle) / max(1, every_after - every)}

    def _settings(self):
        return {"RONDO_SLOT_BYTES": str(self._slice)} if self._slice else {}

    def _perf(self, program, size, calls, more):
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch) / "report.json"
            self._output([*self._before, str(self._folder / "rondorun"), "--hosts", self._testbed.slots(),
                          "--ssh", str(AGENT),
                          "--env", f"RONDO_SOCKET_IFNAME=={self._testbed.interfaces()}",
                          *(f"--env={name}={value}" for name, value in self._settings().items()),
                          str(self._folder / program), "-b", str(size), "-e", str(size),
                          "-n", str(calls), "-w", "1", "-c", "0", "-J", str(report), *more],
                         {"TESTBED_NAME": self._testbed.name})
            row = json.loads(report.read_text())["results"][0]
        return float(row["out_of_place"]["time"]) * 1e-6

    def _output(self, words, environment):
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT,
                                  env={**os.environ, **environment})
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failure(str(error)) from None
        if done.returncode != 0:
            raise Failure(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout
