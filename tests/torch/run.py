#!/usr/bin/env python3
"""Runs the tests of the PyTorch backend, each program with 2 and 4 ranks.

    tests/torch/run.py [PART-OF-A-NAME...]

With the Python that has torch and the backend (build/torch/venv/bin/python, made by
tests/torch/setup). Ends with ctest's summary line.
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
LIMIT = 120  # seconds until a job counts as hung

# Name, program with its arguments, exit codes that are right besides 0.
PROGRAMS = [("collectives", [FOLDER / "collectives_test.py"], []),
            ("work", [FOLDER / "work_test.py"], []),
            ("errors", [FOLDER / "errors_test.py"], [7]),
            ("training", [FOLDER / "training_test.py"], [])]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_job(program, ranks, log):
    """The exit codes of a job's ranks."""
    port = free_port()
    children = []
    for rank in range(ranks):
        environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks),
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1",
                           PYTHONPATH=str(FOLDER), PYTHONDONTWRITEBYTECODE="1")
        children.append(subprocess.Popen([sys.executable, *map(str, program)], env=environment,
                                         stdout=log, stderr=subprocess.STDOUT))
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


def main():
    logs = REPOSITORY / "build/logs"
    logs.mkdir(parents=True, exist_ok=True)
    failed = total = 0
    for name, program, also_right in PROGRAMS:
        for ranks in (2, 4):
            if sys.argv[1:] and not any(word in f"{name}-{ranks}" for word in sys.argv[1:]):
                continue
            path, begin = logs / f"torch-{name}-{ranks}.log", time.monotonic()
            with path.open("w") as log:
                codes = run_job(program, ranks, log)
            right = all(code in [0, *also_right] for code in codes) and 0 in codes
            total += 1
            failed += not right
            print(f"{'passed' if right else 'FAILED'}  {name}, {ranks} ranks, "
                  f"{time.monotonic() - begin:.1f} s", flush=True)
            if not right:
                print(f"exit codes {codes}; {path}:\n" + "\n".join(path.read_text().splitlines()[-60:]))
    passed = 100 * (total - failed) // total if total else 0
    print(f"\n{passed}% tests passed, {failed} tests failed out of {total}")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
