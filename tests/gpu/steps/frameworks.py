"""PyTorch and CuPy as they are, with rondo's libnccl in place of NVIDIA's, and with
NVIDIA's."""

import importlib.util
import os
import pathlib
import sys
import tempfile

from steps.context import LeftOut
from steps.place import ROOT

RANKS = ROOT / "tests/gpu"
PROGRAM = (sys.executable, RANKS / "pytorch_ranks.py")
SHARES = "NCCL_MULTI_RANK_GPU_ENABLE"
QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS"
# Name, ranks, options, environment, and about how long it takes beside the others.
RUNS = (("rondo", 2, (), {}, 2), ("rondo", 4, (), {}, 3),
        ("eager", 2, ("--short", "--device-id"), {}, 1),
        ("segments that grow", 2, ("--short",), {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, 1),
        ("1 queue", 2, ("--short",), {QUEUES: 1}, 1), ("8 queues", 2, ("--short",), {QUEUES: 8}, 1))


def needs(module, context):
    context.needs_gpu("runtime of CUDA's")
    if importlib.util.find_spec(module) is None:
        raise LeftOut(f"this Python ({sys.executable}) has no {module}")
    if context.place.program("rondorun") is None:
        raise LeftOut("the build has no rondorun")


def rondorun(context, ranks, *words):
    return [context.place.program("rondorun"), "-n", str(ranks), *words]


def pytorch(context):
    """Ranks of one GPU by our library: everything, then short runs in other surroundings. Each takes
    about as long as its part says of the time that is left."""
    needs("torch", context)
    left = sum(part for *_, part in RUNS)
    for name, ranks, words, environment, part in RUNS:
        context.run(f"pytorch, {ranks} ranks, {name}",
                    rondorun(context, ranks, "--nccl", "--share-gpu", *PROGRAM, *words), part / left,
                    RONDO_DEBUG="WARN", **environment)
        left -= part


def lets_ranks_share(lines):
    """Whether the NCCL that NVIDIA's rank had knows the variable (since 2.30)."""
    return any(SHARES.encode() in pathlib.Path(path).read_bytes() for line in lines
               if line.get("library") == "NVIDIA's" for path in line["mapped"])


def nvidia(context):
    """One rank by our library and one by NVIDIA's; then two by NVIDIA's. Those may hang, as its manual
    says, where the GPU has no room for both."""
    needs("torch", context)
    context.run("pytorch, 1 rank, rondo", rondorun(context, 1, "--nccl", *PROGRAM), 0.35)
    context.run("pytorch, 1 rank, NVIDIA's NCCL", rondorun(context, 1, *PROGRAM, "--nvidia"), 0.55)
    if not lets_ranks_share(context.lines):
        raise LeftOut(f"2 ranks by NVIDIA's NCCL: this one has no {SHARES}")
    context.run("pytorch, 2 ranks, NVIDIA's NCCL",
                rondorun(context, 2, "--share-gpu", *PROGRAM, "--nvidia"), may_be_cut=True,
                **{SHARES: 1})


def cupy(context):
    needs("cupy", context)
    for ranks in (2, 4):
        with tempfile.TemporaryDirectory() as place:
            context.run(f"cupy, {ranks} ranks",
                        rondorun(context, ranks, "--nccl", "--share-gpu", sys.executable,
                                 RANKS / "cupy_ranks.py", os.path.join(place, "id")), 0.5)
