#!/usr/bin/env python3
"""Runs the tests of the PyTorch backend, each program with 2 and 4 ranks.

    tests/torch/run.py [PART-OF-A-NAME...]     e.g. errors-4

With the Python that has torch and the backend (build/torch/venv/bin/python, made by
tests/torch/setup) and build/release/bin/rondorun (or the folder BINARIES). Ends with
ctest's summary line; the programs' output is in build/logs/torch-*.log.
"""

import os
import pathlib
import socket
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
EXAMPLES = REPOSITORY / "tools/torch/examples"
BINARIES = pathlib.Path(os.environ.get("BINARIES", REPOSITORY / "build/release/bin"))
LIMIT = 300  # seconds until a job counts as hung

# Name, program, numbers of ranks, the exit code that is right for one of them besides 0.
PROGRAMS = [("collectives", FOLDER / "collectives_test.py", (2, 4), 0),
            ("work", FOLDER / "work_test.py", (2, 4), 0),
            ("errors", FOLDER / "errors_test.py", (2, 4), 7),
            ("python", FOLDER / "python_test.py", (2, 4), 0),
            ("again", FOLDER / "again_test.py", (2,), 0),
            ("processes", FOLDER / "processes_test.py", (1,), 0),
            ("training", FOLDER / "training_test.py", (2, 4), 0),
            ("torchrun", EXAMPLES / "fsdp2.py", (4,), 0),
            ("rondorun", EXAMPLES / "ddp.py", (2,), 0)]


def launcher(name, ranks):
    """How a job is started by others; nothing for those that this program starts itself."""
    return {"torchrun": [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}"],
            "rondorun": [BINARIES / "rondorun", f"-n{ranks}", sys.executable]}.get(name, [])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def commands(name, program, ranks):
    """(command, environment) of each process to start."""
    common = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(FOLDER), PYTHONDONTWRITEBYTECODE="1")
    started_by = launcher(name, ranks)
    if started_by:
        return [([*started_by, program], common)]
    meeting = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return [([sys.executable, program], common | meeting | {"RANK": str(rank), "LOCAL_RANK": str(rank)})
            for rank in range(ranks)]


def run_job(name, program, ranks, log):
    """The exit codes of a job's processes."""
    children = [subprocess.Popen(list(map(str, command)), env=environment, stdout=log,
                                 stderr=subprocess.STDOUT)
                for command, environment in commands(name, program, ranks)]
    end = time.monotonic() + LIMIT
    try:
        return [child.wait(max(1, end - time.monotonic())) for child in children]
    except subprocess.TimeoutExpired:
        log.write("timed out\n")
        return [1]
    finally:
        for child in children:
            child.kill()
            child.wait()


def wanted(name):
    return not sys.argv[1:] or any(word in name for word in sys.argv[1:])


def passes(name, program, ranks, also_right):
    """Runs a job and says how it went."""
    path, begin = REPOSITORY / f"build/logs/torch-{name}-{ranks}.log", time.monotonic()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as log:
        codes = run_job(name, program, ranks, log)
    right = 0 in codes and all(code in (0, also_right) for code in codes)
    print(f"{'passed' if right else 'FAILED'}  {name}, {ranks} ranks, "
          f"{time.monotonic() - begin:.1f} s", flush=True)
    if not right:
        print(f"exit codes {codes}; {path}:\n" + "\n".join(path.read_text().splitlines()[-60:]))
    return right


def main():
    results = [passes(name, program, ranks, also_right)
               for name, program, numbers, also_right in PROGRAMS for ranks in numbers
               if wanted(f"{name}-{ranks}")]
    failed, total = results.count(False), len(results)
    share = 100 * (total - failed) // total if total else 0
    print(f"\n{share}% tests passed, {failed} tests failed out of {total}")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
