"""What is compared, and the command lines that start it."""
import dataclasses
import os
import re
import shutil
import subprocess

COLLECTIVES = ["all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all"]
# Calls whose blocks differ in size, each with a pattern of counts (bench/common/count_pattern.h):
# only on demand. Random counts are others in every call.
PATTERNS = ["even", "linear", "one", "random"]
RAGGED = [f"{collective}_v:{pattern}"
          for collective in ("all_gather", "reduce_scatter", "gather", "scatter", "all_to_all")
          for pattern in PATTERNS]
# What gloo does not have: only on demand, too.
SCANS = ["scan", "exclusive_scan"]
LINKS = ["shm", "tcp"]


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str     # as in tables and results
    library: str  # whose job it runs in
    word: str     # what the driver calls it
    peer: bool = True


RONDO = Variant("rondo", "rondo", "heap", False)
ALLOCATE = Variant("allocate", "rondo", "allocate", False)
OPENMPI = Variant("openmpi", "openmpi", "heap")
MPICH = Variant("mpich", "mpich", "heap")
GLOO_RING = Variant("gloo", "gloo", "ring")
GLOO_BCUBE = Variant("gloo bcube", "gloo", "bcube")
COPY = Variant("copy", "copy", "heap", False)
COPY_STREAM = Variant("copy stream", "copy", "stream", False)
SOCKET = Variant("socket", "sockets", "one", False)
SOCKET_PAIR = Variant("socket pair", "sockets", "two", False)

LAUNCHERS = {"rondo": None, "copy": None, "sockets": None, "gloo": None, "openmpi": "mpirun.openmpi",
             "mpich": "mpirun.mpich"}


def openmpi_modules(collective):
    """Open MPI's modules of collectives that are not its default: han, which knows of hosts, and
    adapt, which overlaps the parts of a tree."""
    names = ["han"] + (["adapt"] if collective == "broadcast" else [])
    return [Variant(f"openmpi {name}", f"openmpi:{name}", "heap") for name in names]


def variants(link, collective):
    """The variants, in the order of the table. gloo has no shared memory; gloo.cc says what else it
    lacks."""
    if link == "shm":
        own = [RONDO, ALLOCATE, OPENMPI, MPICH]
        return own + [COPY, COPY_STREAM] if collective == "all_reduce" else own
    if collective in RAGGED + SCANS:
        return [RONDO, OPENMPI, MPICH]
    raw = [SOCKET, SOCKET_PAIR] if link == "tcp" else []
    if collective == "all_reduce":
        return [RONDO, OPENMPI, MPICH, GLOO_RING, GLOO_BCUBE] + raw
    if collective == "reduce_scatter":
        return [RONDO, OPENMPI, MPICH] + raw
    return [RONDO, OPENMPI, MPICH, GLOO_RING] + raw


def cores():
    return len(os.sched_getaffinity(0))


def job_ranks(library, ranks):
    """The ranks of a library's job. The copies, which make the floor, run at most once on each core."""
    return min(ranks, cores()) if library == "copy" else ranks


def why_missing(library, folder):
    """None, or what keeps this library from being measured. "openmpi:han" is a module of one."""
    library = library.partition(":")[0]
    if not (folder / f"compare_{library}").exists():
        return f"compare_{library} is not built"
    launcher = LAUNCHERS[library]
    if launcher and not shutil.which(launcher):
        return f"{launcher} is not installed"
    return None


def openmpi_shared_memory():
    """The name of Open MPI's transport over shared memory, which version 5 changed."""
    version = subprocess.run(["mpirun.openmpi", "--version"], capture_output=True, text=True)
    match = re.search(r"Open MPI\) (\d+)", version.stdout)
    return "sm" if match and int(match.group(1)) >= 5 else "vader"


def openmpi_command(link, ranks, bind):
    transport = openmpi_shared_memory() if link == "shm" else "tcp"
    command = ["mpirun.openmpi", "-n", str(ranks), "--mca", "pml", "ob1",
               "--mca", "btl", f"self,{transport}"]
    if link == "tcp":
        command += ["--mca", "btl_tcp_if_include", "lo"]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    if ranks > cores():
        command.append("--oversubscribe")  # sets mpi_yield_when_idle too
    return command + ["--bind-to", "core" if bind else "none"]


def mpich_command(link, ranks, bind):
    command = ["mpirun.mpich", "-n", str(ranks)]
    if bind:
        command += ["-bind-to", "core"]
    if link == "tcp":
        # Without its own shared memory everything goes through UCX, which is told to use TCP.
        command += ["-genv", "MPIR_CVAR_NOLOCAL", "1", "-genv", "UCX_TLS", "tcp,self",
                    "-genv", "UCX_NET_DEVICES", "lo"]
    return command


def by_environment(driver, socket, ranks, extra):
    """One process for each rank, told its place by the environment."""
    return [([driver, socket], dict(extra, RANK=str(rank), WORLD_SIZE=str(ranks)))
            for rank in range(ranks)]


def processes(library, link, ranks, folder, socket, scratch):
    """[(command, environment to add)] that start a job. Shared memory is measured with one rank on
    each core where there are enough cores. Otherwise no rank is bound."""
    bind = link == "shm" and ranks <= cores()
    pinned = {"COMPARE_BIND": "1"} if bind else {}
    driver = str(folder / f"compare_{library}")
    if library == "rondo":
        command = [str(folder / "rondorun"), "-n", str(ranks), driver, socket]
        return [(command, dict(pinned, RONDO_TRANSPORT=link))]
    if library == "openmpi":
        return [([*openmpi_command(link, ranks, bind), driver, socket], {})]
    if library == "mpich":
        return [([*mpich_command(link, ranks, bind), driver, socket], {})]
    extra = {"gloo": {"GLOO_STORE": scratch}, "sockets": {"SOCKETS_STORE": scratch},
             "copy": {"COMPARE_BIND": "1"}}
    return by_environment(driver, socket, ranks, extra[library])
