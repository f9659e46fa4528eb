"""The steps, in the order in which they run. The most informative ones come first."""

import dataclasses
import typing

from steps import frameworks, processes, programs, sanitizer, sweeps

MOST_SECONDS = 535  # of all steps together


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    does: str
    seconds: int  # at most
    run: typing.Callable


STEPS = (
    Step("reduce", "reductions against the CPU's, then their speed beside a copy's", 10,
         programs.reduce),
    Step("one_stream", "all-reduces that one thread makes for all ranks, in one stream, and graphs",
         8, sweeps.one_stream),
    Step("one_thread", "every collective, one thread for all ranks, a stream for each", 25,
         sweeps.one_thread),
    Step("threads", "every collective, a thread for each rank", 30, sweeps.threads),
    Step("processes", "every collective, a process for each rank, without MPS", 45,
         sweeps.processes),
    Step("calls", "kernels that wait for other ranks', by launches in streams of their own", 10,
         programs.calls),
    Step("nccl", "libnccl's calls on device buffers: tests/nccl", 110, programs.nccl),
    Step("pytorch", "PyTorch's collectives and DDP with rondo's library", 65, frameworks.pytorch),
    Step("cupy", "cupy.cuda.nccl with rondo's library", 15, frameworks.cupy),
    Step("scripts", "processes that share the GPU, one killed, graphs, windows, freed memory", 80,
         processes.scripts),
    Step("mps", "kernels of processes that wait for each other, under MPS", 10,
         processes.under_mps),
    Step("resident", "every algorithm by the resident kernel, then its speed", 15,
         programs.resident),
    Step("train", "rondo-train's operations and trainings", 30, programs.train),
    Step("sanitizer", "short runs under memcheck and racecheck", 45, sanitizer.checked),
)
