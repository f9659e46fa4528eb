"""What happens to whole processes: Ctrl-C, and another NCCL in place of theirs."""

import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from ports import free_port
from running import HANG_SECONDS, Running, by_themselves, clean_environment, require, wait_until

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
GPU = REPOSITORY / "tests/gpu"
RONDORUN = pathlib.Path(os.environ.get("BINARIES", REPOSITORY / "build/check/bin")) / "rondorun"

WAITS = """
import rondo
world = rondo.from_environment(timeout=900)
for _ in range(3):
    world.barrier()
print("rank", world.rank, "waits", flush=True)
if world.rank == 0:
    world.barrier()
else:
    input()
    world.barrier()  # rank 0 was in this one, so it may complete before the abort arrives
    world.barrier()
"""
A_DAEMON_WAITS = """
import threading, rondo
world = rondo.from_environment(timeout=900)
if world.rank == 0:
    threading.Thread(target=world.barrier, daemon=True).start()
    try:
        while True:
            world.traffic()
    except rondo.Error as error:
        assert "another thread is inside a call" in str(error), error
    print("waits", flush=True)
else:
    input()
    world.barrier()
"""
ENDS_BEFORE_THE_OTHER = """
import ctypes, functools, sys, numpy, rondo

class Interrupt:
    from_param = staticmethod(lambda _: 2)

class Array:
    '''Python runs nothing between the look-up of this one's memory, which sends SIGINT, and the call.'''
    def __init__(self):
        send = ctypes.CDLL(None)["raise"]
        send.argtypes = [Interrupt]
        self.__dlpack__ = functools.partial(max, [numpy.ones(4).__dlpack__()], key=send)

def fails():
    raise ValueError("a bug")

world = rondo.from_environment(timeout=900)
world.barrier()
print("met", flush=True)
if world.rank == int(sys.argv[1]):
    {"raises": fails, "exits": lambda: sys.exit(3), "is done": lambda: None,
     "is interrupted": lambda: world.all_reduce(numpy.ones(4), Array())}[sys.argv[2]]()
else:
    input()
    world.barrier()
"""
TRAINS = """
import torch, torch.distributed as distributed
distributed.init_process_group("rondo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(500, 500))
number = 0
while True:
    model(torch.ones(4, 500)).sum().backward()
    number += 1
    if number == 5:
        print("trains", flush=True)
"""
VERSION = """
import ctypes
from rondo import activate
activate.check()
version = ctypes.c_int()
assert ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(version)) == 0
print("version", version.value, activate.mapped())
"""
OPENS_ANOTHER = """
import ctypes, os, sys, torch
other = os.path.join(os.path.dirname(torch.__file__), "lib", "libnccl.so.2")
ctypes.CDLL(other)
from rondo import activate
activate.check()
assert len(activate.mapped()) == 2, activate.mapped()
print("both are open", flush=True)
"""


def run(*words, **more):
    """Runs a command to its end. Its two streams are apart."""
    return subprocess.run(list(map(str, words)), env=clean_environment(**more), text=True, check=False,
                          timeout=HANG_SECONDS, stdin=subprocess.DEVNULL, capture_output=True)


def python(*words, **more):
    return run(sys.executable, *words, **more)


def shared_memory():
    """Only files: folders of other programs may lie there, too."""
    return sorted(entry.name for entry in os.scandir("/dev/shm")
                  if "rondo" in entry.name and entry.is_file(follow_symlinks=False))


def await_none_left(before):
    """Waits until all files are gone. Other programs' files come and go; a job's left-overs would stay."""
    stays = set(shared_memory()) - set(before)

    def gone():
        stays.intersection_update(shared_memory())
        return not stays
    require(wait_until(gone, 60), f"left: {stays}")


def await_end(command):
    """Its exit status, once nothing runs that it has started."""
    status = command.status()
    require(wait_until(lambda: not command.left()), f"something is left: {command.left()}")
    return status


def two_ranks(text, *words):
    return by_themselves(2, sys.executable, "-c", text, *words)


def test_ctrl_c_in_a_waiting_call_is_a_keyboard_interrupt():
    first, second = two_ranks(WAITS)
    with first, second:
        first.wait_for("waits")
        second.wait_for("waits")
        first.send_signal(signal.SIGINT)
        require(first.status() != 0 and "KeyboardInterrupt" in first.text, first.log)
        second.tell("")
        require(second.status() == 1 and "rondo.Error" in second.text, second.log)


def test_a_program_may_end_while_a_daemon_thread_waits():
    first, second = two_ranks(A_DAEMON_WAITS)
    with first, second:
        first.wait_for("waits")
        second.tell("")
        require(first.status() == 0 and second.status() == 0, first.log, second.log)


def test_who_waits_for_a_rank_that_has_ended_hears_how():
    death = "ended, died or was killed"
    leave = "has left the communicator (its last call was barrier #1, complete)"
    abort = "reports: the communicator was aborted: by Ctrl-C (SIGINT)"
    # The thread that aborts waiting calls after Ctrl-C may look before or after the call has begun.
    ends = {"raises": (1, "ValueError: a bug", [death]), "exits": (3, "", [death]),
            "is interrupted": (-signal.SIGINT, "KeyboardInterrupt", [death, abort]),
            "is done": (0, "", [leave])}
    for (how, (status, words, heard)), rank in itertools.product(ends.items(), range(2)):
        ranks = two_ranks(ENDS_BEFORE_THE_OTHER, rank, how)
        ending, waiting = ranks[rank], ranks[1 - rank]
        with ending, waiting:
            for each in ranks:
                each.wait_for("met")
            require(ending.status() == status and words in ending.text, how, ending.log)
            waiting.tell("")
            waiting.status()
            require(f"rondo: rank {1 - rank}: rank {rank} " in waiting.text, how, waiting.log)
            require(any(words in waiting.text for words in heard), how, waiting.log)


SURVIVES = """
import os, signal, sys, numpy, torch, torch.distributed as dist
dist.init_process_group("rondo")
rank, victim = dist.get_rank(), int(sys.argv[1])
ones = torch.ones(1000)
dist.all_reduce(ones)
if rank == victim:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    while True:
        dist.all_reduce(torch.ones(1000))
except dist.DistBackendError as error:
    assert f"rank {victim} " in str(error), error
dist.shrink_group([victim])
numbers = torch.full((1000,), float(rank))
dist.all_reduce(numbers)
dist.barrier()
print("size", dist.get_world_size(), "sum", numbers[0].item(), flush=True)
dist.destroy_process_group()
"""


def check_survivors(program, victim, words):
    """The victim of three ranks is killed; the others say the words and end in order."""
    ranks = by_themselves(3, sys.executable, "-c", program, victim)
    for rank, each in enumerate(ranks):
        with each:
            status = each.status()
            expected = -signal.SIGKILL if rank == victim else 0
            require(status == expected, (rank, status), each.log)
            require(rank == victim or words in each.text, rank, each.log)


def test_a_group_shrinks_where_a_rank_was_killed():
    for victim in (1, 2):   # rank 0's process has torch's store
        check_survivors(SURVIVES, victim, f"size 2 sum {3.0 - victim}")


PYTHON_SURVIVES = """
import os, signal, sys, numpy, rondo
world = rondo.from_environment()
rank, victim = world.rank, int(sys.argv[1])
world.barrier()
if rank == victim:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    while True:
        world.all_reduce(numpy.ones(1000))
except rondo.Error as error:
    assert error.code == "peer_lost" and error.peer == victim, error
flags, lost = world.agree(0b110 | rank % 2)
fewer = world.shrink()
total = fewer.all_reduce(numpy.array([rank]))[0]
larger = rondo.make_unique_id() if fewer.rank == 0 else None
try:
    fewer.grow(2, larger)
    refused = ""
except rondo.Error as error:
    refused = error.code
assert refused == "invalid_argument", refused
print("flags", flags, "lost", lost, "size", fewer.size, "sum", total, flush=True)
fewer.finalize()
"""


def test_python_programs_agree_and_shrink_where_any_rank_was_killed():
    for victim in range(3):
        check_survivors(PYTHON_SURVIVES, victim, f"flags 6 lost [{victim}] size 2 sum {3 - victim}")


def test_ctrl_c_ends_a_training_whole():
    before = shared_memory()
    for launcher in ([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2",
                      f"--master-port={free_port()}", "--no-python"],
                     [RONDORUN, "-n", "2"]):
        with Running(*launcher, sys.executable, "-c", TRAINS, OMP_NUM_THREADS="1") as training:
            training.wait_for("trains", 2)
            training.send_signal_to_all(signal.SIGINT)
            require(await_end(training) != 0, training.log)
    await_none_left(before)


def test_a_job_in_the_background_ends_by_sigterm():
    """Shells and nohup start such jobs with Ctrl-C ignored. It stays ignored in all ranks."""
    before = shared_memory()
    with Running("nohup", "sh", "-c", "trap '' INT; exec \"$@\"", "sh", RONDORUN, "-n", "2",
                 sys.executable, "-c", WAITS.replace("input()", "world.recv(bytearray(1), 0)")) as job:
        job.wait_for("waits", 2)
        job.send_signal_to_all(signal.SIGINT)     # changes nothing
        require(not job.has_ended(), job.log)
        job.send_signal(signal.SIGTERM)
        require(await_end(job) == 128 + signal.SIGTERM, job.log)
    await_none_left(before)


def test_the_library_is_swapped():
    for words in ([sys.executable, "-m", "rondo.activate", "-c", VERSION],
                  [RONDORUN, "-n", "2", "--nccl", sys.executable, "-c", VERSION]):
        done = run(*words)
        assert done.returncode == 0 and "version 22809 ['" in done.stdout, done.stdout + done.stderr
        assert done.stdout.count("libnccl.so.2") == done.stdout.count("version"), done.stdout


def test_torch_takes_the_swapped_library():
    text = "import torch; from rondo import activate; print(activate.mapped())"
    own = python("-c", text).stdout
    assert "torch/lib/libnccl.so.2" in own, own     # the library that it takes otherwise
    for words in ([sys.executable, "-m", "rondo.activate", "-c", text],
                  [RONDORUN, "-n", "1", "--nccl", sys.executable, "-c", text]):
        done = run(*words)
        assert done.returncode == 0 and "torch/lib" not in done.stdout, done.stdout + done.stderr
        assert "nccl/libnccl.so.2" in done.stdout, done.stdout
    wrong = python("-c", "import torch", LD_PRELOAD="/nowhere/libnccl.so.2")
    assert wrong.returncode != 0 and "not active" in wrong.stderr, wrong.stderr


def test_calls_go_to_the_swapped_library_though_another_one_is_open():
    """PyTorch for CUDA opens the file of NVIDIA's package at import."""
    for words in ([sys.executable, "-m", "rondo.activate", "-c", OPENS_ANOTHER],
                  [RONDORUN, "-n", "1", "--nccl", sys.executable, "-c", OPENS_ANOTHER]):
        done = run(*words)
        assert done.returncode == 0 and "both are open" in done.stdout, done.stdout + done.stderr


def test_another_library_before_ours_is_told():
    text = ("import os; os.environ['LD_PRELOAD'] = os.environ['OURS']\n"
            "from rondo import activate; activate.check()")
    ours = python("-m", "rondo.activate", "--path").stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        other = shutil.copy(ours, folder)
        done = python("-c", text, LD_PRELOAD=other, OURS=ours)
        assert done.returncode == 1 and "Try:" in done.stderr, done.stderr
        assert "another NCCL is used" in done.stderr, done.stderr


def test_one_gpu_for_all():
    text = "import os; print(os.environ['LOCAL_RANK'], os.environ['CUDA_VISIBLE_DEVICES'])"
    for words in ([sys.executable, "-m", "rondo.activate", "--share-gpu", "-c", text],
                  [RONDORUN, "-n", "2", "--share-gpu", sys.executable, "-c", text]):
        lines = run(*words, CUDA_VISIBLE_DEVICES="3,5").stdout.splitlines()
        assert lines and set(lines) == {"0 3"}, lines


def test_what_activate_says():
    assert "--share-gpu" in python("-m", "rondo.activate", "--help").stdout
    assert python("-m", "rondo.activate", "--path").stdout.strip().endswith("nccl/libnccl.so.2")
    nothing = python("-m", "rondo.activate")
    assert nothing.returncode == 2 and "no program" in nothing.stderr
    absent = python("-m", "rondo.activate", "/nowhere/program")
    assert absent.returncode == 127 and "/nowhere/program" in absent.stderr
    outside = python("-c", "from rondo import activate; activate.check()")
    assert outside.returncode == 1 and "not active" in outside.stderr


def test_examples():
    for example in sorted((REPOSITORY / "tools/python/examples").glob("*.py")):
        done = run(RONDORUN, "-n", "4", sys.executable, example)
        assert done.returncode == 0 and "False" not in done.stdout, done.stdout + done.stderr


def test_what_a_gpu_runs_of_torch_and_cupy_goes_on_a_cpu():
    """tests/gpu's ranks: torch by the backend rondo, and CuPy's module by numpy on the host."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = ["pytorch_ranks.py", "--device", "cpu", "--backend", "rondo"]
        for more, words in (({}, ranks), ({}, [*ranks, "--short"]),
                            ({"PYTHONPATH": str(GPU / "by_numpy")}, ["cupy_ranks.py", f"{folder}/id"])):
            done = run(RONDORUN, "-n", "2", "--nccl", "--share-gpu", sys.executable, GPU / words[0],
                       *words[1:], **more)
            assert done.returncode == 0, done.stdout + done.stderr
            said = json.loads(done.stdout.splitlines()[-1])
            assert said["ranks"] == 2 and len(said["mapped"]) == 1, said
            assert said["mapped"][0].endswith("/lib/nccl/libnccl.so.2"), said
    alone = python(GPU / "pytorch_ranks.py", "--device", "cpu", "--backend", "rondo", RANK="0",
                   WORLD_SIZE="1", LOCAL_RANK="0")
    assert alone.returncode == 1 and "rondo's NCCL is not active" in alone.stderr, alone.stderr


def main():
    for name, test in [item for item in globals().items() if item[0].startswith("test_")]:
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        begin = time.monotonic()
        try:
            test()
        except Exception:
            traceback.print_exc()
            sys.exit(f"{name} failed")
        print(f"passed: {name}, {time.monotonic() - begin:.1f} s", flush=True)


main()
