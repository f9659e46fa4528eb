"""PyTorch and CuPy as they are, with rondo's libnccl in place of NVIDIA's."""

import importlib.util
import os
import sys
import tempfile

from steps.context import LeftOut
from steps.place import ROOT

RANKS = ROOT / "tests/gpu"


def needs(module, context):
    context.needs_gpu("runtime of CUDA's")
    if importlib.util.find_spec(module) is None:
        raise LeftOut(f"this Python ({sys.executable}) has no {module}")
    if context.place.program("rondorun") is None:
        raise LeftOut("the build has no rondorun")


def rondorun(context, ranks, *words):
    return [context.place.program("rondorun"), "-n", str(ranks), *words]


def pytorch(context):
    """Ranks of one GPU by our library, then one rank by ours and one by NVIDIA's, which refuses more."""
    needs("torch", context)
    program = [sys.executable, RANKS / "pytorch_ranks.py"]
    for ranks, share in ((2, 0.5), (4, 0.6), (1, 0.6)):
        context.run(f"pytorch, {ranks} ranks, rondo",
                    rondorun(context, ranks, "--nccl", "--share-gpu", *program), share,
                    RONDO_DEBUG="WARN")
    context.run("pytorch, 1 rank, NVIDIA's NCCL",
                rondorun(context, 1, *program, "--nvidia"), 0.9)


def cupy(context):
    needs("cupy", context)
    for ranks in (2, 4):
        with tempfile.TemporaryDirectory() as place:
            context.run(f"cupy, {ranks} ranks",
                        rondorun(context, ranks, "--nccl", "--share-gpu", sys.executable,
                                 RANKS / "cupy_ranks.py", os.path.join(place, "id")), 0.5)
