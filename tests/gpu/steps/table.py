"""The steps, in the order in which they run: what all others need, what is right, what it costs, and
last the long measurements."""

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
    needed: bool = False  # by all others: none is run after it has gone wrong


STEPS = (
    Step("preflight", "the driver takes our kernels and memory operations; one all-reduce is right",
         15, programs.preflight, needed=True),
    Step("reduce", "reductions against the CPU's, then their speed beside a copy's", 8,
         programs.reduce),
    Step("calls", "every algorithm by kernels that wait for other ranks', in streams of their own", 10,
         programs.calls),
    Step("nccl", "libnccl's calls on device buffers: tests/nccl", 120, programs.nccl),
    Step("scripts", "processes that share the GPU, one killed, graphs, windows, freed memory", 85,
         processes.scripts),
    Step("mps", "kernels of processes that wait for each other, under MPS", 10,
         processes.under_mps),
    Step("train", "rondo-train's operations and trainings", 8, programs.train),
    Step("soak", "100,000 launches of kernels that wait, beside a load", 25, programs.soak),
    Step("pytorch", "PyTorch with rondo's library: collectives, DDP, graphs, memory, few queues", 85,
         frameworks.pytorch),
    Step("cupy", "cupy.cuda.nccl with rondo's library", 12, frameworks.cupy),
    Step("costs", "memory operations of streams, by number", 3, programs.costs),
    Step("nvidia", "a step of DDP by rondo's library and by NVIDIA's, also with a shared GPU", 35,
         frameworks.nvidia),
    Step("sanitizer", "short runs under memcheck", 25, sanitizer.checked),
    Step("one_stream", "all-reduces that one thread makes for all ranks, in one stream, and graphs",
         6, sweeps.one_stream),
    Step("one_thread", "every collective, one thread for all ranks, a stream for each", 20,
         sweeps.one_thread),
    Step("threads", "every collective, a thread for each rank", 16, sweeps.threads),
    Step("processes", "every collective, a process for each rank, without MPS", 40,
         sweeps.processes),
)
