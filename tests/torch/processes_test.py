"""What happens to whole processes: Ctrl-C, and another NCCL in place of theirs."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

import forked

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
RONDORUN = pathlib.Path(os.environ.get("BINARIES", REPOSITORY / "build/release/bin")) / "rondorun"
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
try:
    activate.check()
except RuntimeError as error:
    print(error, flush=True)
input()
"""


def environment(**more):
    return {key: value for key, value in os.environ.items() if key not in PLACE} | more


def run(*words, **more):
    return subprocess.run(list(map(str, words)), env=environment(**more), text=True, timeout=LIMIT,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)


def python(*words, **more):
    return run(sys.executable, *words, **more)


def start(*words, **more):
    return subprocess.Popen(list(map(str, words)), env=environment(**more), text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            start_new_session=True, preexec_fn=heed_interrupts)


def heed_interrupts():
    """Whoever started the tests in the background may have them ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def in_session(session):
    """Living processes of a session."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = pathlib.Path(f"/proc/{process}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = text[text.rindex(")") + 2:].split()
        if fields[0] != "Z" and int(fields[3]) == session:
            found.append(int(process))
    return found


def await_lines(process, text, times):
    for line in process.stdout:
        times -= text in line
        if times == 0:
            return
    raise AssertionError(f"ended without '{text}': {process.stderr.read()}")


def await_end(process):
    """All of the job ends; returns what was said to standard error."""
    _, error = process.communicate(timeout=LIMIT)
    end = time.monotonic() + LIMIT
    while in_session(process.pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not in_session(process.pid), "something is left"
    return error


def shared_memory():
    return sorted(name for name in os.listdir("/dev/shm") if "rondo" in name)


def test_ctrl_c_in_a_waiting_call_is_a_keyboard_interrupt():
    port = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(forked.free_port()), "WORLD_SIZE": "2"}
    ranks = [start(sys.executable, "-c", WAITS, RANK=str(rank), **port) for rank in range(2)]
    for rank in ranks:
        await_lines(rank, "waits", 1)
    ranks[0].send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, error = ranks[0].communicate(timeout=LIMIT)
    assert "KeyboardInterrupt" in error and ranks[0].returncode != 0, error
    assert time.monotonic() - begin < LIMIT
    _, error = ranks[1].communicate("\n", timeout=LIMIT)
    assert "rondo.Error" in error and ranks[1].returncode == 1, error


def test_ctrl_c_ends_a_training_whole():
    before = shared_memory()
    for launcher in ([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"],
                     [RONDORUN, "-n", "2"]):
        program = [sys.executable, "-c", TRAINS]
        words = [*launcher, *(["--no-python"] if "-m" in launcher else []), *program]
        training = start(*words, OMP_NUM_THREADS="1")
        await_lines(training, "trains", 2)
        os.killpg(training.pid, signal.SIGINT)   # as a terminal does
        await_end(training)
        assert training.returncode != 0
    assert shared_memory() == before, f"{shared_memory()}, before {before}"


def test_a_job_in_the_background_ends_by_sigterm():
    """Shells and nohup start such jobs with Ctrl-C ignored, and so it stays in all ranks."""
    before = shared_memory()
    job = start("nohup", "sh", "-c", "trap '' INT; exec \"$@\"", "sh", RONDORUN, "-n", "2",
                sys.executable, "-c", WAITS.replace("input()", "world.recv(bytearray(1), 0)"))
    await_lines(job, "waits", 2)
    os.killpg(job.pid, signal.SIGINT)     # changes nothing
    assert job.poll() is None
    job.terminate()
    await_end(job)
    assert job.returncode == 128 + signal.SIGTERM, job.returncode
    assert shared_memory() == before, f"{shared_memory()}, before {before}"


def test_the_library_is_swapped():
    for words in ([sys.executable, "-m", "rondo.activate", "-c", VERSION],
                  [RONDORUN, "-n", "2", "--nccl", sys.executable, "-c", VERSION]):
        done = run(*words)
        assert done.returncode == 0 and "version 22809 ['" in done.stdout, done.stdout + done.stderr
        assert done.stdout.count("libnccl.so.2") == done.stdout.count("version"), done.stdout


def test_torch_takes_the_swapped_library():
    text = "import torch; from rondo import activate; print(activate.mapped())"
    own = python("-c", text).stdout
    assert "torch/lib/libnccl.so.2" in own, own     # what it takes otherwise
    for words in ([sys.executable, "-m", "rondo.activate", "-c", text],
                  [RONDORUN, "-n", "1", "--nccl", sys.executable, "-c", text]):
        done = run(*words)
        assert done.returncode == 0 and "torch/lib" not in done.stdout, done.stdout + done.stderr
        assert "nccl/libnccl.so.2" in done.stdout, done.stdout
    wrong = python("-c", "import torch", LD_PRELOAD="/nowhere/libnccl.so.2")
    assert wrong.returncode != 0 and "not active" in wrong.stderr, wrong.stderr


def test_a_library_opened_by_its_path_is_told():
    process = start(sys.executable, "-m", "rondo.activate", "-c", OPENS_ANOTHER)
    output, _ = process.communicate("\n", timeout=LIMIT)
    assert "another NCCL" in output and "Try:" in output, output
    job = start(RONDORUN, "-n", "2", "--nccl", sys.executable, "-c",
                OPENS_ANOTHER.replace("input()", "import signal; signal.pause()"))
    error = await_end(job)
    assert "another NCCL by its path" in error and job.returncode == 1, error


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
