"""What happens to whole processes: Ctrl-C, and another NCCL in place of theirs."""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import forked

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
GPU = REPOSITORY / "tests/gpu"
RONDORUN = pathlib.Path(os.environ.get("BINARIES", REPOSITORY / "build/check/bin")) / "rondorun"
PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
LIMIT = 900  # seconds: a process that takes longer hangs

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


def environment(**more):
    return {key: value for key, value in os.environ.items() if key not in PLACE} | more


def run(*words, **more):
    return subprocess.run(list(map(str, words)), env=environment(**more), text=True, timeout=LIMIT,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)


def python(*words, **more):
    return run(sys.executable, *words, **more)


class Job(subprocess.Popen):
    """A process in a session of its own, for a `with` block. After the block all processes that it has
    started are gone, even those in other sessions (torchrun gives each rank one). Killed if it hangs."""

    numbers = itertools.count()

    def __init__(self, *words, **more):
        self.mark = f"PART_OF_JOB={os.getpid()}-{next(self.numbers)}"
        name, value = self.mark.split("=")
        super().__init__(list(map(str, words)), env=environment(**more, **{name: value}), text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         start_new_session=True, preexec_fn=heed_interrupts)
        self.watch = threading.Timer(LIMIT, self.kill_all)
        self.watch.daemon = True
        self.watch.start()

    def living(self):
        """The running processes that have the job's mark in their environment."""
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if self.mark.encode() in pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                    found.append(int(process))
        return found

    def kill_all(self):
        for process in self.living():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def __exit__(self, *error):
        self.watch.cancel()
        self.kill_all()
        super().__exit__(*error)


def heed_interrupts():
    """Restores Ctrl-C, which may be ignored if the tests run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def await_lines(process, text, times):
    """Waits for `times` times `text`. Two may be in one line: under torchrun (PYTHONUNBUFFERED) a line's end
    is written separately."""
    for line in process.stdout:
        times -= line.count(text)
        if times <= 0:
            return
    raise AssertionError(f"ended without '{text}': {process.stderr.read()}")


def await_end(process):
    """Waits until the whole job has ended. Returns its standard error."""
    _, error = process.communicate(timeout=LIMIT)
    end = time.monotonic() + LIMIT
    while process.living() and time.monotonic() < end:
        time.sleep(0.05)
    assert not process.living(), f"something is left: {process.living()}"
    return error


def shared_memory():
    """Only files: folders of other programs may lie there, too."""
    return sorted(entry.name for entry in os.scandir("/dev/shm")
                  if "rondo" in entry.name and entry.is_file(follow_symlinks=False))


def await_none_left(before):
    """Waits until all files are gone. Other programs' files come and go; a job's left-overs would stay."""
    end, stays = time.monotonic() + 60, set(shared_memory()) - set(before)
    while stays and time.monotonic() < end:
        time.sleep(0.05)
        stays &= set(shared_memory())
    assert not stays, f"left: {stays}"


def two_ranks(text, *words):
    """A job for each rank, so that no launcher ends one rank when the other has failed."""
    first, second = forked.places(2)
    return (Job(sys.executable, "-c", text, *words, **first),
            Job(sys.executable, "-c", text, *words, **second))


def test_ctrl_c_in_a_waiting_call_is_a_keyboard_interrupt():
    first, second = two_ranks(WAITS)
    with first, second:
        await_lines(first, "waits", 1)
        await_lines(second, "waits", 1)
        first.send_signal(signal.SIGINT)
        _, error = first.communicate(timeout=LIMIT)
        assert "KeyboardInterrupt" in error and first.returncode != 0, error
        _, error = second.communicate("\n", timeout=LIMIT)
        assert "rondo.Error" in error and second.returncode == 1, error


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
        with ranks[0], ranks[1]:
            for each in ranks:
                await_lines(each, "met", 1)
            _, error = ranks[rank].communicate(timeout=LIMIT)
            assert ranks[rank].returncode == status and words in error, (how, rank, error)
            _, error = ranks[1 - rank].communicate("\n", timeout=LIMIT)
            assert f"rondo: rank {1 - rank}: rank {rank} " in error, (how, error)
            assert any(words in error for words in heard), (how, error)


def test_ctrl_c_ends_a_training_whole():
    before = shared_memory()
    for launcher in ([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2",
                      f"--master-port={forked.free_port()}"],
                     [RONDORUN, "-n", "2"]):
        program = [sys.executable, "-c", TRAINS]
        words = [*launcher, *(["--no-python"] if "-m" in launcher else []), *program]
        with Job(*words, OMP_NUM_THREADS="1") as training:
            await_lines(training, "trains", 2)
            os.killpg(training.pid, signal.SIGINT)   # as a terminal does
            await_end(training)
            assert training.returncode != 0
    await_none_left(before)


def test_a_job_in_the_background_ends_by_sigterm():
    """Shells and nohup start such jobs with Ctrl-C ignored. It stays ignored in all ranks."""
    before = shared_memory()
    with Job("nohup", "sh", "-c", "trap '' INT; exec \"$@\"", "sh", RONDORUN, "-n", "2",
             sys.executable, "-c", WAITS.replace("input()", "world.recv(bytearray(1), 0)")) as job:
        await_lines(job, "waits", 2)
        os.killpg(job.pid, signal.SIGINT)     # changes nothing
        assert job.poll() is None
        job.terminate()
        await_end(job)
        assert job.returncode == 128 + signal.SIGTERM, job.returncode
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
        for more, words in (({}, ["pytorch_ranks.py", "--device", "cpu", "--backend", "rondo"]),
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
