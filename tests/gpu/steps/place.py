"""What is run and on what: a build's programs, and the GPU or its stand-in."""

import os
import pathlib
import shutil
import sys

from steps.execute import execute

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAMES = "name,driver_version,memory.total"
COUNT = """
import ctypes
driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
def call(name, *arguments):
    status = getattr(driver, name)(*arguments)
    assert status == 0, f"{name}: CUDA error {status}"
call("cuInit", 0)
call("cuDeviceGetCount", ctypes.byref(count))
"""
SHOWN = COUNT + "print(count.value)"
REACHED = COUNT + """
context = ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuDevicePrimaryCtxRelease_v2", 0)
"""


class Place:
    """`build`: a folder of bin and lib. `stand_in`: the folder of a libcuda.so.1 that takes the
    driver's place in a rehearsal, or None."""

    def __init__(self, build, stand_in=None):
        self.bin, self.lib = pathlib.Path(build) / "bin", pathlib.Path(build) / "lib"
        self.stand_in = pathlib.Path(stand_in) if stand_in else None

    def program(self, name):
        """The path of a program, or None where the build does not have it."""
        path = self.bin / name
        return path if path.is_file() else None

    def library(self):
        return self.lib / "nccl/libnccl.so.2"

    def environment(self, **more):
        folders = [self.stand_in, self.lib, os.environ.get("LD_LIBRARY_PATH")]
        made = dict(os.environ, LD_LIBRARY_PATH=":".join(str(each) for each in folders if each))
        # Several ranks of one context have more streams than the usual 8 queues.
        made.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
        made["LIBNCCL_PATH"] = str(self.library())
        made.pop("LIBCUDA_PATH", None)
        if self.stand_in:
            made["LIBCUDA_PATH"] = str(self.stand_in / "libcuda.so.1")
        return made | {name: str(value) for name, value in more.items()}

    def devices(self):
        """How many devices the driver shows; 0 also where there is no driver."""
        done = execute([sys.executable, "-c", SHOWN], self.environment(), 60)
        return int(done.text.split()[-1]) if done.status == 0 else 0  # after the output of a loader

    def obstacle(self, environment, limit):
        """Why a process cannot use the first GPU in this environment; empty: it can."""
        done = execute([sys.executable, "-c", REACHED], environment, limit)
        said = done.text.strip() or f"status {done.status}"
        return "" if done.status == 0 else said.splitlines()[-1]

    def describe(self):
        """What nvidia-smi calls the first GPU."""
        if self.stand_in:
            return {"name": "none: the driver's stand-in, a rehearsal"}
        program = shutil.which("nvidia-smi")
        if program is None:
            return {}
        done = execute([program, f"--query-gpu={NAMES}", "--format=csv,noheader"],
                       self.environment(), 60)
        lines = done.text.strip().splitlines()
        if done.status != 0 or not lines:
            return {}
        return dict(zip(NAMES.split(","), (part.strip() for part in lines[0].split(","))))
