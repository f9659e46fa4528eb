#!/usr/bin/env python3
"""Runs the tests of the PyTorch backend.

    tests/torch/run.py [PART-OF-A-NAME...]     e.g. errors-4

Two programs run at a time, as they often wait. Needs:
- the Python that has torch and the backend: build/torch/venv/bin/python, made by tests/torch/setup
- rondorun, in build/check/bin or in the folder BINARIES

The last line is a summary like ctest's. The programs' output is in build/logs/torch-*.log.
"""

import multiprocessing
import multiprocessing.connection
import os
import pathlib
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.environ["RONDO_BOOTSTRAP_TIMEOUT"] = "600"   # the machine may be busy

import torch  # noqa: E402,F401  (read once here, for all ranks forked later)
import torch.distributed.checkpoint  # noqa: E402,F401
import torch.distributed.fsdp  # noqa: E402,F401
import torch.distributed.pipelining  # noqa: E402,F401
import torch.distributed.tensor.parallel  # noqa: E402,F401

import forked  # noqa: E402
import running  # noqa: E402  (forked knows the folder)

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
EXAMPLES = REPOSITORY / "tools/torch/examples"
AT_ONCE = 2
LIMIT = 2400  # seconds until a job counts as hung


def by_fork(program, *arguments):
    """Ranks forked from this process: they share the modules that it has read."""
    return lambda ranks, log: forked.run_program(program, arguments, ranks, log, LIMIT)


def wait(children):
    """Their exit codes; None for those that take too long."""
    end = time.monotonic() + LIMIT
    try:
        return [child.wait(max(1, end - time.monotonic())) for child in children]
    except subprocess.TimeoutExpired:
        return [None]
    finally:
        for child in children:
            child.kill()
            child.wait()


def start(log, variables, *command):
    return subprocess.Popen(list(map(str, command)), env=dict(os.environ, PYTHONPATH=str(FOLDER)) | variables,
                            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


def by_themselves(program):
    """Ranks that are started as programs of their own."""
    return lambda ranks, log: wait([start(log, place, sys.executable, program)
                                    for place in running.places(ranks)])


def alone(program, *arguments):
    """A program that starts its ranks itself."""
    return lambda _, log: wait([start(log, {}, sys.executable, program, *arguments)])


# Name, how it is run, numbers of ranks, the exit code besides 0 that a rank may end with. The longest
# come first.
PROGRAMS = [("pytorchs_own", alone(FOLDER / "pytorchs_own_tests.py"), (4,), 0),
            ("engines", alone(FOLDER / "engines_test.py"), (4,), 0),
            ("processes", by_themselves(FOLDER / "processes_test.py"), (1,), 0),
            ("training", by_fork(FOLDER / "training_test.py"), (4, 2), 0),
            ("errors", by_themselves(FOLDER / "errors_test.py"), (4, 2), 7),
            ("python", by_themselves(FOLDER / "python_test.py"), (4, 2), 0),
            ("python-schedule", by_themselves(FOLDER / "python_schedule_test.py"), (1,), 0),
            ("windows", by_themselves(FOLDER / "windows_test.py"), (4, 2), 0),
            ("gaps", by_fork(FOLDER / "gaps.py", "--check", REPOSITORY / "tools/torch/README.md"), (1,), 0),
            ("deepspeed", by_fork(EXAMPLES / "deepspeed_zero.py"), (2,), 0),
            ("wheel", alone(FOLDER / "wheel_test.py"), (2,), 0),
            ("again", by_themselves(FOLDER / "again_test.py"), (2,), 0),
            ("three_d", by_fork(EXAMPLES / "three_d.py"), (8,), 0),
            ("collectives", by_fork(FOLDER / "collectives_test.py"), (4, 2), 0),
            ("work", by_fork(FOLDER / "work_test.py"), (4, 2), 0),
            ("schedules", alone(FOLDER / "schedules_test.py"), (4,), 0),
            ("manifests", alone(FOLDER / "manifests_test.py"), (1,), 0)]


def wanted(name):
    return not sys.argv[1:] or any(word in name for word in sys.argv[1:])


def run_one(name, run, ranks, also_right):
    """Runs a job, prints the result and ends this process, with status 0 if it passed."""
    path, begin = REPOSITORY / f"build/logs/torch-{name}-{ranks}.log", time.monotonic()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as log:
        codes = run(ranks, log)
    right = 0 in codes and all(code in (0, also_right) for code in codes)
    text = f"{'passed' if right else 'FAILED'}  {name}, {ranks} ranks, {time.monotonic() - begin:.1f} s"
    if not right:
        text += (f"\nexit codes {codes} (None: not within {LIMIT} s); {path}:\n" +
                 "\n".join(path.read_text(errors="replace").splitlines()[-60:]))
    print(text, flush=True)
    sys.exit(0 if right else 1)


def run_all(jobs):
    """How many failed. Each runs in a child of this process, which has read torch already."""
    fork, running, failed = multiprocessing.get_context("fork"), [], 0
    while jobs or running:
        while jobs and len(running) < AT_ONCE:
            running.append(fork.Process(target=run_one, args=jobs.pop(0)))
            running[-1].start()
        multiprocessing.connection.wait([child.sentinel for child in running])
        ended = [child for child in running if child.exitcode is not None]  # asked once: it polls
        failed += sum(child.exitcode != 0 for child in ended)
        running = [child for child in running if child not in ended]
    return failed


def main():
    jobs = [(name, run, ranks, also_right) for name, run, numbers, also_right in PROGRAMS
            for ranks in numbers if wanted(f"{name}-{ranks}")]
    total, failed = len(jobs), run_all(jobs)
    share = 100 * (total - failed) // total if total else 0
    print(f"\n{share}% tests passed, {failed} tests failed out of {total}")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
