"""Short runs under compute-sanitizer's memcheck."""

import sys

from steps import toolkit
from steps.context import LeftOut
from steps.processes import script

# Calls ask the driver about pointers that it may not know: no is an answer, not an error.
MEMCHECK = ["--tool", "memcheck", "--report-api-errors", "no", "--error-exitcode", "9"]
# Tests of gpu_nccl: both ways between devices, messages, windows, a graph, and one thread's group.
TESTS = ("collectives go from device to device*,messages go from device to device round a ring*,"
         "captured calls between devices are replayed*,one thread's reductions*,"
         "two windows in one allocation*")
# Kernels that wait for those of other launches are not here: a tool need not let them run side by side.
PROGRAMS = (("gpu_nccl", TESTS), ("gpu_reduce", "--brief"))
# The script's first process never meets the driver.
SCRIPTS = (("nccl/device_processes_test.py", "Processes.test_graphs_are_replayed"),)


def commands(context, tool):
    """The commands, each with its name."""
    for name, *arguments in PROGRAMS:
        path = context.place.program(name)
        if path is not None:
            yield f"memcheck {name}", [tool, *MEMCHECK, path, *arguments]
    for name, *arguments in SCRIPTS:
        yield f"memcheck {name}", [tool, *MEMCHECK, "--target-processes", "all",
                                   "--require-cuda-init", "no", sys.executable, script(name), *arguments]


def checked(context):
    """A tool makes everything slow, so a command that does not end in time is left out. All have equal
    parts of the time, and of what others leave."""
    context.needs_gpu("compute-sanitizer")
    tool = toolkit.program("compute-sanitizer")
    if tool is None:
        raise LeftOut("compute-sanitizer is not found")
    made = list(commands(context, tool))
    for others, (name, command) in zip(range(len(made), 0, -1), made):
        context.run(name, command, share=1 / others, may_be_cut=True)
