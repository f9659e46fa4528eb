"""What rondo's own programs measure and predict, on the hosts of a testbed."""
import json
import pathlib
import re
import sys

import link
from program import Failure, microseconds, output_of
from record import command_output
from testbed import AGENT

LIMIT = 300  # seconds for one measurement


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
        return output_of(
            self._testbed.on(0, "cat", "/proc/sys/net/ipv4/tcp_congestion_control")).strip()

    def version(self):
        return "rondo at " + command_output("git", "rev-parse", "--short", "HEAD")

    def slice_bytes(self, algorithm, size):
        """The size of the slices into which rondo cuts each chunk of the call between hosts."""
        text = output_of(
            [self._folder / "rondo", "why", "all_reduce", size, "--ranks", self._testbed.hosts,
             "--apart", "--transport", "tcp", "--algorithm", algorithm], LIMIT, self._settings())
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
        words = [self._folder / "rondo", "simulate", "all_reduce", "--algorithm", algorithm,
                 "--ranks", self._testbed.hosts, "--bytes", size, "--slice", int(simulated), "--switch"]
        for name, value in ((name, model[name]) for name in ("alpha", "beta", "gamma")):
            words += [f"--{name}", repr(value)]
        line = output_of(words, LIMIT).splitlines()[-1]
        found = re.match(rf"\s*{algorithm}\s+([\d.]+)\s+[\d.]+x\s+\d+\s+([\d.]+) (\w+)", line)
        if not found:
            raise Failure(f"rondo simulate says: {line}")
        return {"algorithm": algorithm, "bytes": size, "slice": cut,
                "simulated": float(found.group(1)) * 1e-6,
                "link_bytes": bytes_of(found.group(2), found.group(3))}

    def payload_rate(self):
        """(GB/s that one TCP stream carries over a link, what measured it)."""
        return json.loads(output_of(
            [*self._before, sys.executable, link.__file__, "rate", self._testbed.name], LIMIT))

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
        return 1e-6 * microseconds(
            [*self._before, self._folder / "rondorun", "--hosts", self._testbed.slots(), "--ssh", AGENT,
             "--env", f"RONDO_SOCKET_IFNAME=={self._testbed.interfaces()}",
             *(f"--env={name}={value}" for name, value in self._settings().items()),
             self._folder / program, "-b", size, "-e", size, "-n", calls, "-w", "1", *more],
            limit=LIMIT, environment={"TESTBED_NAME": self._testbed.name})[0]
