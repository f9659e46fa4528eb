"""What the tests of traces share: running rondo and jobs, and traces made by hand."""

import pathlib
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from running import Running  # noqa: E402

rondo_program = sys.argv[1]
folder = pathlib.Path(sys.argv[2])
rondorun, all_reduce_perf = sys.argv[3:5]
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)


def rondo(*arguments):
    """Runs rondo; status, standard output and error."""
    run = subprocess.run([rondo_program, *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120, check=False)
    return run.returncode, run.stdout, run.stderr


def traced_run(name, *arguments, ranks=4, **environment):
    """Traces calls of all_reduce_perf. Returns the name of the traces, as rondo takes it."""
    path = folder / name
    Running(rondorun, "-n", ranks, all_reduce_perf, *arguments, RONDO_TRACE=str(path),
            **environment).require_success()
    return path


HEAD = """rondo trace 1
run 00c0ffee
communicator world
rank {rank} of 2 world {rank}
host host{rank}
clock {clock}
over tcp
"""

# A ring all-reduce of two ranks: each sends a chunk, adds what comes, sends the sum on.
BODY = """base 0
plan 0 all_reduce ring 0 2 1 2
op 0 0 0 {other} 1 {other} -
op 0 0 0 {rank} 1 {other} {other} -
op 0 1 0 {other} 1 - {other}
form 0 0 8 float32 sum 4 1 0
"""


def times(rank, late, ahead):
    """Events of a rank that comes `late` nanoseconds late and whose clock is `ahead`."""
    begin = ahead + 1000 + (late if rank == 1 else 0)
    summed = ahead + 3000 + late
    lines = [f"B {begin} 1 0 1", f"b {begin + 100} 1 0 0", f"e {begin + 200} 1 0 0 16",
             f"b {summed} 1 1 0", f"e {summed + 500} 1 1 0 16",
             f"b {summed + 1000} 1 2 0", f"e {summed + 1200} 1 2 0 16", f"E {summed + 1300} 1 0"]
    return lines


def hand_made(name, late=0, ahead=0, offsets=(), change=lambda rank, text: text):
    """Writes two files. Rank 1 comes late. Its clock is ahead of rank 0's and was compared so."""
    paths = []
    for rank in (0, 1):
        events = times(rank, late, ahead if rank == 1 else 0)
        text = HEAD.format(rank=rank, clock="a" if rank == 0 or not offsets else "b")
        if rank == 1:
            text += "".join(f"offset {at} {far} {unsure}\n" for at, far, unsure in offsets)
        text += BODY.format(rank=rank, other=1 - rank) + "\n".join(events)
        text += f"\nlost 0 0\nend {len(events)}\n"
        path = folder / f"{name}.{rank}"
        path.write_text(change(rank, text))
        paths.append(path)
    return paths
