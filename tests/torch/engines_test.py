"""The same program started by torchrun, rondorun, mpirun, srun and sbatch; a process that comes back.

    engines_test.py [PART-OF-A-NAME...]

A program of its own, not one of ranks: it starts the jobs.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

import slurm

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from ports import free_port  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "tools/torch/examples"
LAUNCH = REPOSITORY / "tools/torch/launch"
BINARIES = pathlib.Path(os.environ.get("BINARIES", REPOSITORY / "build/check/bin"))
PROGRAM = [EXAMPLES / "metrics.py", "--backend", "rondo"]
LIMIT = 900   # seconds until a job counts as hung
RIGHT = "rows                 103  in one process 103"   # once: only rank 0 of one world prints it


def start(*command, **variables):
    """(exit code, output)"""
    environment = dict(os.environ, OMP_NUM_THREADS="1") | variables
    try:
        job = subprocess.run(list(map(str, command)), env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired as late:
        return 124, f"{late}\n{late.output}"
    return job.returncode, job.stdout


def torchrun(*words):
    """Uses a port of its own: torchrun's default is always the same, and programs run side by side."""
    return start(sys.executable, "-m", "torch.distributed.run", f"--master-port={free_port()}", *words)


def succeeded(code, output, word=RIGHT, times=1):
    """All ranks were in one world: its first rank printed the word, so many times."""
    count = output.count(word)
    assert count == times, f"'{word}' {count} times (exit code {code}) in:\n{output}"
    assert code == 0, f"exit code {code}:\n{output}"


def test_torchrun():
    succeeded(*torchrun("--nproc-per-node=4", EXAMPLES / "fsdp2.py", "--backend=rondo"),
              "largest difference", 3)


def test_rondorun():
    succeeded(*start(BINARIES / "rondorun", "-n2", sys.executable, *PROGRAM))


def test_mpirun():
    succeeded(*start("mpirun", "--oversubscribe", "-n", "2", sys.executable, *PROGRAM,
                     OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))


def test_no_launcher():
    succeeded(*start(sys.executable, *PROGRAM))


def test_torchrun_starts_a_dead_process_again():
    with tempfile.TemporaryDirectory() as folder:
        code, output = torchrun("--nproc-per-node=2", "--max-restarts=1", EXAMPLES / "elastic.py",
                                "--steps=6", "--die-at=3", "--checkpoints", folder)
    succeeded(code, output, "went on from step 3")


def test_slurm():
    """Two nodes. RONDO_HOSTID makes them two machines for rondo, so that tcp connects them."""
    by_nodes = "RONDO_HOSTID=$SLURMD_NODENAME exec " + " ".join(map(str, [sys.executable, *PROGRAM]))
    with slurm.Cluster() as cluster:
        job = cluster.run("srun", "-N2", "-n4", "--overcommit", "bash", "-c", by_nodes,
                          MASTER_ADDR="127.0.0.1", OMP_NUM_THREADS="1")
        succeeded(job.returncode, job.stdout)
        log = cluster.folder / "batch.log"
        job = cluster.run("sbatch", "--wait", "--ntasks-per-node=1", f"--output={log}",
                          LAUNCH / "train.sbatch", *PROGRAM, MASTER_ADDR="127.0.0.1", PYTHON=sys.executable)
        succeeded(job.returncode, log.read_text() if log.exists() else job.stdout + cluster.logs())


def test_slurm_ends_the_job_when_a_process_dies():
    with slurm.Cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        job = cluster.run("srun", "-N2", "-n2", "--kill-on-bad-exit=1", sys.executable,
                          EXAMPLES / "elastic.py", "--die-at=3", "--checkpoints", folder,
                          MASTER_ADDR="127.0.0.1", OMP_NUM_THREADS="1")
    assert job.returncode != 0 and "began at" not in job.stdout, job.stdout


def main():
    wanted = sys.argv[1:]
    for name, test in sorted(globals().copy().items()):
        if name.startswith("test_") and (not wanted or any(word in name for word in wanted)):
            begin = time.monotonic()
            test()
            print(f"passed: {name}, {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
