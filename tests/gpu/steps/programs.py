"""The programs of tests/gpu that check and measure by themselves."""

import sys

from steps import toolkit
from steps.context import LeftOut
from steps.execute import execute
from steps.place import ROOT

LAUNCHES, LOAD = 100_000, 4 << 20  # bytes of a buffer of the load
FEW_LAUNCHES, SMALL_LOAD = 240, 64 << 10
CHECKED = "~[fake]"  # what only the stand-in can show is left out
HAS_CUBLAS = """
import contextlib, ctypes, sys
for version in (13, 12, 11):
    with contextlib.suppress(OSError):
        sys.exit(ctypes.CDLL(f"libcublas.so.{version}") is None)
sys.exit(1)
"""


def reduce(context):
    context.needs_gpu("runtime of CUDA's")
    context.program("gpu_reduce", *(["--check"] if context.brief else []))


def preflight(context):
    context.program("gpu_preflight")


def costs(context):
    context.program("gpu_preflight", "--costs")


def soak(context):
    """The program ends by itself before it would be ended."""
    launches, load = (FEW_LAUNCHES, SMALL_LOAD) if context.brief or context.place.stand_in else (
        LAUNCHES, LOAD)
    context.program("gpu_calls", "--soak", str(launches), f"{0.7 * context.left():.1f}", str(load))
    missing = sum(line["wanted"] - line["launches"] for line in context.lines
                  if line.get("kind") == "soak")
    if missing:
        context.reasons.append(f"{missing} launches: no time was left, or kernels gave up")


def calls(context):
    context.program("gpu_calls")


def nccl(context):
    """Runs the tests file by file, so that a file that hangs is named and the others go on."""
    folder = ROOT / "tests/nccl"
    for path in sorted([*folder.glob("device_*_test.cc"), *folder.glob("between_devices*_test.cc")]):
        chosen = ["--filenames-as-tags", f"[#{path.stem}]{CHECKED}"]
        if context.lists_tests("gpu_nccl", *chosen):
            context.program("gpu_nccl", "--durations", "yes", *chosen, share=0.3)


def train(context):
    """Takes the toolkit's cuBLAS where the machine's own search does not find one."""
    context.needs_gpu("cuBLAS")
    before = context.place.environment()["LD_LIBRARY_PATH"]
    paths = ":".join([before, *map(str, toolkit.libraries("libcublas.so.*"))])
    environment = context.place.environment(LD_LIBRARY_PATH=paths)
    if execute([sys.executable, "-c", HAS_CUBLAS], environment, context.left()).status != 0:
        raise LeftOut("no libcublas.so of CUDA 11 to 13 is found")
    # Ranks are threads of one context there: freeing memory waits for the other ranks' streams.
    context.reasons.append("trainings of several ranks: the program's ranks are threads of one GPU")
    context.program("gpu_train", CHECKED + "~[ranks]", LD_LIBRARY_PATH=paths)
