"""Starts each library's job on every host of a testbed."""
import sys

from testbed import AGENT, FOLDER

COMPARE = FOLDER.parents[1] / "bench" / "compare"
sys.path.insert(0, str(COMPARE))
import libraries  # noqa: E402
from measure import Section  # noqa: E402


def rondo_command(testbed, folder):
    return [str(folder / "rondorun"), "--hosts", testbed.slots(), "--ssh", str(AGENT),
            "--env", f"RONDO_SOCKET_IFNAME=={testbed.interfaces()}"]


def openmpi_command(testbed, module):
    """Open MPI's daemons and its data are told the interfaces: the hosts' loopbacks look alike. Ranks
    on shared cores yield, as Open MPI itself decides where it can see that they share. `module`: one
    of its modules of collectives, "" for its own choice."""
    inside = "" if max(testbed.ranks_on) == 1 else "," + libraries.openmpi_shared_memory()
    chosen = ["--mca", f"coll_{module}_priority", "100"] if module else []
    return testbed.on(0, "mpirun.openmpi", "--allow-run-as-root", "-n", testbed.ranks, "--host",
                      testbed.slots(), "--mca", "plm_rsh_agent", AGENT,
                      "--mca", "oob_tcp_if_include", testbed.interfaces(),
                      "--mca", "pml", "ob1", "--mca", "btl", f"self,tcp{inside}",
                      "--mca", "btl_tcp_if_include", testbed.interfaces(),
                      "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none", *chosen)


def mpich_command(testbed):
    return testbed.on(0, "mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", AGENT,
                      "-hosts", testbed.slots(), "-iface", "eth0",
                      "-n", testbed.ranks, "-genv", "UCX_TLS", "tcp,self",
                      "-genv", "UCX_NET_DEVICES", testbed.interfaces())


def processes(library, testbed, folder, socket, scratch):
    """[(command, environment to add)]. For gloo, whose user starts the ranks, there is one for each
    rank. "rondo:ring" is rondo with that algorithm, "openmpi:han" Open MPI with that module."""
    library, _, part = library.partition(":")
    driver = str(folder / f"compare_{library}")
    inside = {"TESTBED_NAME": testbed.name}
    if library == "gloo":
        return [(testbed.on(host, driver, socket),  # gloo uses one interface
                 dict(inside, RANK=str(rank), WORLD_SIZE=str(testbed.ranks), GLOO_STORE=scratch,
                      GLOO_INTERFACE="eth0"))
                for rank, host in enumerate(testbed.host_of_ranks())]
    if part and library == "rondo":
        inside["RONDO_ALGORITHM"] = part
    launcher = {"rondo": lambda: rondo_command(testbed, folder),
                "openmpi": lambda: openmpi_command(testbed, part),
                "mpich": lambda: mpich_command(testbed)}[library]()
    return [([*launcher, driver, socket], inside)]


class HostsSection(Section):
    """bench/compare's section, but its jobs run on the hosts of a testbed."""

    def __init__(self, testbed, folder):
        super().__init__("hosts", testbed.ranks, folder, "warm")
        self._testbed = testbed

    def variants(self, collective):
        known = libraries.variants(self.link, collective)
        if max(self._testbed.ranks_on) > 1:
            known += libraries.openmpi_modules(collective)
        return [variant for variant in known if self.available(variant)]

    def processes(self, library, ranks, socket, scratch):
        return processes(library, self._testbed, self.folder, socket, scratch)


class AlgorithmsSection(HostsSection):
    """rondo beside itself with each of some algorithms forced."""

    def __init__(self, testbed, folder, algorithms):
        super().__init__(testbed, folder)
        self._algorithms = algorithms

    def variants(self, collective):
        forced = [libraries.Variant(name, f"rondo:{name}", "heap") for name in self._algorithms]
        return [variant for variant in (libraries.RONDO, *forced) if self.available(variant)]

    def available(self, variant):
        """Always true: the job is rondo's own driver, without which nothing runs."""
        if variant.library not in self._jobs and variant.library not in self.missing:
            reason = self._start(variant.library)
            if reason is not None:
                self.missing[variant.library] = reason
        return variant.library in self._jobs
