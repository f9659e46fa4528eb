"""Processes that share the GPU, by libnccl through Python: without MPS, and under one of its own."""

import shutil
import sys
import tempfile

from steps.context import LeftOut
from steps.execute import execute
from steps.place import ROOT

# Each with a part of the time that is left.
SCRIPTS = (("gpu/freed_memory.py", 0.25), ("nccl/device_processes_test.py", 0.6),
           ("nccl/device_puts_test.py", 0.3), ("nccl/device_segments_test.py", 1))
WAITING = "Waiting.test_ranks_that_share_a_device_wait_under_mps"


def script(name):
    return ROOT / "tests" / name


def scripts(context):
    for name, share in SCRIPTS:
        context.run(name, [sys.executable, script(name)], share)


def under_mps(context):
    """Here kernels of ranks wait for each other. MPS has a folder of its own, and the card's settings
    stay as they are."""
    context.needs_gpu("MPS")
    program = shutil.which("nvidia-cuda-mps-control")
    if program is None:
        raise LeftOut("nvidia-cuda-mps-control is not found")
    with tempfile.TemporaryDirectory() as place:
        own = {"CUDA_MPS_PIPE_DIRECTORY": place, "CUDA_MPS_LOG_DIRECTORY": place}
        environment = context.place.environment(**own)
        # The daemon has a session of its own. Otherwise it would be ended with the command that began it.
        began = execute([program, "-d"], environment, 10)
        if began.status != 0:
            raise LeftOut(f"MPS does not begin: {began.text.strip()}")
        try:
            why = context.place.obstacle(environment, context.left() / 2)
            if why:
                raise LeftOut(f"MPS has begun, but no process reaches the GPU under it: {why}")
            context.run("processes_test.py " + WAITING,
                        [sys.executable, script("resident/processes_test.py"), WAITING],
                        share=0.8, **own)
        finally:
            execute([program], environment, 10, given="quit -t 3\n")  # whoever still runs
