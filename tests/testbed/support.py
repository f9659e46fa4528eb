"""What the tests on several hosts share: the hosts, and jobs on them."""
import itertools
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "faults"), str(ROOT / "bench" / "hosts")]

import kernel  # noqa: E402
from jobs import RANK_PROGRAM, RONDORUN, SKIPPED, Job, finish  # noqa: E402
from testbed import AGENT, FOLDER, Testbed  # noqa: E402

NUMBERS = itertools.count()


def address_of(host, interface=0):
    return f"10.77.{interface}.{host + 1}"


class Hosts(Testbed):
    """A context manager: so many ranks on each host, which lasts no longer than this process."""

    def __init__(self, *ranks_on, interfaces=1):
        super().__init__(ranks_on, None, interfaces, f"test-{os.getpid()}-{next(NUMBERS)}")

    def cut(self, host, interface=None):
        """Pulls the host's cable out of the switch; all of them unless one interface is named."""
        self.run("cut", f"h{host}", *([] if interface is None else ["--interface", str(interface)]))

    def job(self, script, *options, interface=0, at=None, **environment):
        """rondorun on this machine or on host `at`, and ranks on each host, reached over a network."""
        hosts = ",".join(f"{address_of(host, interface)}:{ranks}" for host, ranks in enumerate(self.ranks_on))
        words = [RONDORUN, "--hosts", hosts, "--ssh", AGENT, *options, RANK_PROGRAM, *script]
        return Job(*(words if at is None else self.on(at, *words)), TESTBED_NAME=self.name, **environment)

    def result(self, *given, **more):
        with self.job(*given, **more) as job:
            result = job.result()
            job.wait_none_left()
            return result

    def node(self, host, script, *options, **environment):
        """The ranks of a host, started by hand."""
        words = [RONDORUN, "-n", self.ranks_on[host], "--nnodes", self.hosts, "--node-rank", host,
                 "--master-addr", address_of(0), "--master-port", 29577, *options, RANK_PROGRAM, *script]
        return Job(*self.on(host, *words), **environment)

    def output(self, host, *words):
        result = finish(*self.on(host, *words))
        assert result.status == 0, result
        return result.output

    def sent(self, host, interface):
        """Bytes that the host has sent from an interface."""
        return int(self.output(host, "cat", f"/sys/class/net/eth{interface}/statistics/tx_bytes"))

    def connections(self, host, table="tcp"):
        """How many a host has in a table of the kernel's: tcp6 is for IPv6."""
        rows = kernel.parsed(self.output(host, "cat", f"/proc/net/{table}"))
        return sum(state == kernel.STANDS for _, _, state, _ in rows)


def main():
    check = subprocess.run([FOLDER / "testbed", "check"], capture_output=True, text=True)
    if check.returncode != 0:
        print(f"WARNING: NOTHING IS TESTED HERE: {check.stderr}", file=sys.stderr)
        sys.exit(SKIPPED if check.returncode == SKIPPED else 1)
    unittest.main()
