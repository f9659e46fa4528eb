#!/usr/bin/env python3
"""What rondo can do and gloo, PyTorch's own backend for CPUs, cannot: tries both and prints a table.

    tests/torch/gaps.py [--check FILE]

Run it with the Python that has torch and the backend. Two ranks go through all cases with each
backend. Each case has a process group of its own. A case in which gloo may stay silent until its
timeout runs as a job of its own, beside the others.

--check FILE: fail unless FILE (tools/torch/README.md) holds the table exactly as it is printed.
"""

import argparse
import datetime
import os
import pathlib
import sys
import tempfile
import traceback

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402
import torch.distributed as distributed  # noqa: E402
import torch.distributed.fsdp  # noqa: E402,F401
import torch.distributed.tensor  # noqa: E402,F401

import forked  # noqa: E402
import job  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/torch/examples"))
TIMEOUT = 300  # seconds that a call may wait: long, as the machine may be busy
SHORT = 40     # the same for cases in which gloo says nothing before its timeout
LIMIT = 900    # seconds until a job counts as hung


def right(tensor, *values):
    if tensor.to(torch.complex64).tolist() != [complex(value) for value in values]:
        raise AssertionError("wrong numbers")


def own(dtype=torch.float32, count=2):
    """1 from rank 0, 2 from rank 1 (1 where the type is bool)."""
    return torch.full((count,), distributed.get_rank() + 1, dtype=torch.float32).to(dtype)


def all_reduce(dtype=torch.float32, operator=distributed.ReduceOp.SUM, result=3):
    tensor = own(dtype)
    distributed.all_reduce(tensor, operator)
    right(tensor, *[1 if dtype == torch.bool else result] * 2)


def reduce_scatter(dtype=torch.float32, operator=distributed.ReduceOp.SUM, result=3):
    output = torch.empty(1, dtype=dtype)
    distributed.reduce_scatter_tensor(output, own(dtype), operator)
    right(output, result)


def all_gather(dtype):
    output = torch.empty(2, dtype=dtype)
    distributed.all_gather_into_tensor(output, own(dtype, 1))
    right(output, 1, 2)


def broadcast(dtype):
    tensor = own(dtype)
    distributed.broadcast(tensor, 0)
    right(tensor, 1, 1)


def send(dtype):
    tensor = own(dtype)
    if distributed.get_rank() == 0:
        distributed.send(tensor, 1)
    else:
        distributed.recv(tensor, 0)
        right(tensor, 1, 1)


def stacked_all_gather():
    output = torch.empty(2, 2)
    distributed.all_gather_into_tensor(output, own())
    right(output.flatten(), 1, 1, 2, 2)


def unequal_all_gather():
    outputs = [torch.empty(1), torch.empty(2)]
    distributed.all_gather(outputs, own(count=distributed.get_rank() + 1))
    right(torch.cat(outputs), 1, 2, 2)


def unequal_reduce_scatter():
    output = torch.empty(distributed.get_rank() + 1)
    distributed.reduce_scatter(output, [own(count=1), own(count=2)])
    right(output, *[3] * len(output))


def all_to_all_of_lists():
    outputs = [torch.empty(1), torch.empty(1)]
    distributed.all_to_all(outputs, [own(count=1), own(count=1)])
    right(torch.cat(outputs), 1, 2)


def split():
    group = distributed.split_group(split_ranks=[[0, 1]])
    tensor = own()
    distributed.all_reduce(tensor, group=group)
    right(tensor, 3, 3)


def coalesced():
    tensors = [own(), own(count=3)]
    with distributed._coalescing_manager():
        for tensor in tensors:
            distributed.all_reduce(tensor)
    right(torch.cat(tensors), *[3] * 5)


def fsdp2(dtype):
    import fsdp2 as example
    example.train(1, dtype)


def must_fail(call):
    """Each rank calls something else. Every rank must get an error; a result is wrong."""
    try:
        call(distributed.get_rank())
    except Exception as error:
        if "imed out" not in str(error):
            return
        raise
    raise AssertionError("no error")


def other_lengths(rank):
    distributed.all_reduce(torch.ones(2 + rank))


def other_types(rank):
    distributed.all_reduce(torch.ones(2, dtype=(torch.float32, torch.int32)[rank]))


def other_operators(rank):
    distributed.all_reduce(torch.ones(2), (distributed.ReduceOp.SUM, distributed.ReduceOp.MAX)[rank])


def other_roots(rank):
    distributed.broadcast(torch.ones(2), rank)
    distributed.barrier()


def other_calls(rank):
    if rank == 0:
        distributed.all_reduce(torch.ones(2))
    else:
        distributed.all_gather_into_tensor(torch.ones(4), torch.ones(2))


TYPES = (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.int16, torch.uint16, torch.uint32,
         torch.bool, torch.complex64)


def cases():
    """(name, what each rank calls)"""
    operator = distributed.ReduceOp
    for dtype in TYPES:
        name = str(dtype).removeprefix("torch.")
        yield f"all_reduce of {name}", lambda dtype=dtype: all_reduce(dtype)
        yield f"broadcast of {name}", lambda dtype=dtype: broadcast(dtype)
        yield f"send and recv of {name}", lambda dtype=dtype: send(dtype)
        if dtype.is_floating_point:
            yield f"all_gather_into_tensor of {name}", lambda dtype=dtype: all_gather(dtype)
            yield f"reduce_scatter_tensor of {name}", lambda dtype=dtype: reduce_scatter(dtype)
    half = distributed._make_nccl_premul_sum(0.5)
    yield "all_reduce, AVG", lambda: all_reduce(operator=operator.AVG, result=1.5)
    yield "all_reduce, PREMUL_SUM", lambda: all_reduce(operator=half, result=1.5)
    yield "reduce_scatter_tensor, AVG", lambda: reduce_scatter(operator=operator.AVG, result=1.5)
    yield "reduce_scatter_tensor, PREMUL_SUM", lambda: reduce_scatter(operator=half, result=1.5)
    yield "all_gather_into_tensor, stacked", stacked_all_gather
    yield "all_gather, unequal lengths", unequal_all_gather
    yield "reduce_scatter, unequal lengths", unequal_reduce_scatter
    yield "all_to_all, lists", all_to_all_of_lists
    yield "split_group", split
    yield "several all_reduces as one", coalesced
    yield "FSDP2, sending bfloat16", lambda: fsdp2(torch.bfloat16)
    yield "FSDP2, sending float16", lambda: fsdp2(torch.float16)


def mistakes():
    for what, call in (("pass different lengths", other_lengths), ("pass different types", other_types),
                       ("pass different operators", other_operators), ("name different roots", other_roots),
                       ("make different calls", other_calls)):
        yield f"an error where ranks {what}", lambda call=call: must_fail(call)


def await_all(store, name):
    """Waits until both ranks have made their group. A rank whose case fails at once would otherwise
    close connections that the other rank is still making. gloo does not recover from that: the ranks
    then count their groups differently."""
    store.set(f"{name}: {job.rank_in_job()}", "has its group")
    store.wait([f"{name}: {rank}" for rank in range(job.ranks_in_job())])


def go_through(backend, chosen, timeout, folder):
    """Runs on each rank. A case's error goes into a file FOLDER/CASE/RANK."""
    store = job.store()
    for name, case in chosen:
        try:
            distributed.init_process_group(
                backend, store=distributed.PrefixStore(name, store), rank=job.rank_in_job(),
                world_size=job.ranks_in_job(), timeout=datetime.timedelta(seconds=timeout))
            await_all(store, name)
            case()
        except Exception as error:
            traceback.print_exc()
            first_line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
            place = pathlib.Path(folder) / name
            place.mkdir(exist_ok=True)
            (place / str(job.rank_in_job())).write_text(first_line or type(error).__name__)
        if distributed.is_initialized():
            distributed.destroy_process_group()


class Cases:
    """Two ranks that go through the chosen cases, from now on."""

    def __init__(self, backend, chosen, timeout=TIMEOUT):
        self.what = f"{backend}: {', '.join(name for name, _ in chosen)[:60]}"
        self.folder = tempfile.TemporaryDirectory()
        self.log = tempfile.TemporaryFile("w+")
        self.ranks = forked.Job(go_through, (backend, chosen, timeout, self.folder.name), 2, self.log)

    def failures(self):
        """{case: the error of the lowest rank that has one}"""
        codes = self.ranks.end(LIMIT)
        if codes != [0, 0]:
            self.log.seek(0)
            raise SystemExit(f"{self.what}: exit codes {codes}\n{self.log.read()}")
        with self.folder:
            return {place.name: min(place.iterdir()).read_text()
                    for place in pathlib.Path(self.folder.name).iterdir()}


def shortened(words):
    """An error without the file and line of torch's sources that some errors begin with."""
    words = words.rpartition("] ")[2] if words.startswith("[") else words
    if words.startswith("Timed out waiting"):
        return "nothing, until the timeout"   # its words differ from run to run
    return " ".join(words.split())[:90].replace("|", "\\|")


def table():
    """(the lines, the cases in which rondo failed)"""
    plain, wrong = list(cases()), list(mistakes())
    rondos = Cases("rondo", plain + wrong)
    gloos = [Cases("gloo", [one], SHORT) for one in wrong] + [Cases("gloo", plain)]
    theirs = {}
    for some in gloos:
        theirs |= some.failures()
    ours = rondos.failures()
    by_words = {}
    for name, _ in plain + wrong:
        if name in theirs and name not in ours:
            by_words.setdefault(shortened(theirs[name]), []).append(name)
    rows = [f"| {'; '.join(names)} | {words} |" for words, names in by_words.items()]
    broken = [f"rondo: {name}: {words}" for name, words in ours.items()]
    return ["| works with rondo | what gloo does |", "|---|---|", *rows], broken


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    lines, broken = table()
    print("\n".join([*lines, *broken]))
    if options.check and "\n".join(lines) not in options.check.read_text():
        broken.append(f"{options.check} does not hold the table above. Try: copy it there")
        print(broken[-1])
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
