"""Messages in GPU memory of the stand-in for CUDA's driver. Soft-RoCE itself takes no dma-bufs. There
they are files, and another stand-in registers them (tests/verbs/dmabuf_stand_in.cc).
"""
import re

import traffic
from ports import free_port
from running import require

RANKS = 3
GENERATIONS, ROUNDS = 2, 2
SIZES = (1, 100, 5000, 70_000, 600_001)  # as in gpu_program.cc
REPLAYED = 2 * 300_000
# Received messages are copied out of slots. Sent messages are not copied into slots.
RECEIVED = GENERATIONS * (ROUNDS * sum(SIZES) + REPLAYED)
END = re.compile(r"^rank \d+: streams copied (\d+) bytes, descriptors left: 0$", re.MULTILINE)


def start(jobs, **environment):
    stand_in = jobs.folder.parent / "lib" / "dmabuf_stand_in" / "libverbs_dmabuf_stand_in.so"
    settings = {"RONDO_NET_GDR_LEVEL": "SYS", "FAKE_DMABUF": "1", "LD_PRELOAD": str(stand_in),
                "RONDO_P2P_DISABLE": "1", "RONDO_IB_HCA": "=rxe0", "RONDO_DEBUG": "INFO",
                "RONDO_COMM_ID": f"127.0.0.1:{free_port()}", **environment}
    return jobs.start(RANKS, jobs.program("verbs_gpu_program"), str(GENERATIONS), str(ROUNDS),
                      **settings)


def run(jobs, **environment):
    """What the ranks say, what their streams copied, and the accounts of their sends. Some accounts may
    be missing, as a process may end before its communicator is put away."""
    text = start(jobs, **environment).require_success()
    accounts = [tuple(map(int, match)) for match in traffic.ACCOUNT.findall(text)]
    copied = [int(count) for count in END.findall(text)]
    require(len(copied) == RANKS, "not every rank has come to its end", text)
    return text, copied, accounts


def from_place(jobs):
    """Messages of all sizes are sent from their place. Each block is registered once."""
    text, copied, accounts = run(jobs)
    require(text.count("verbs sends messages straight from GPU memory") == RANKS,
            "it is not said", text)
    for sends, placed, _, _, registrations, left in accounts:
        require(sends >= placed >= GENERATIONS * (ROUNDS * len(SIZES) + 2),
                f"{placed} frames were sent from place", text)
        require(registrations == GENERATIONS and left == 0,
                f"{registrations} registrations, {left} bytes of the host's", text)
    require(copied == [RECEIVED] * RANKS, f"{copied} bytes were copied, not {RECEIVED}", text)


def by_the_host(jobs):
    """Each requirement is missing once. Then all results are right, and data is copied twice."""
    for missing, reason in (({"RONDO_NET_GDR_LEVEL": "LOC"}, ""),
                            ({"LD_PRELOAD": ""}, "rxe0 registers no dma-bufs: the driver refuses"),
                            ({"FAKE_WITHOUT_SEGMENTS": "1"},
                             "ncclMemAlloc uses cuMemAlloc: device 0 does not support")):
        text, copied, _ = run(jobs, **missing)
        require(reason in text, f"it is not said that {reason}", text)
        require(copied == [2 * RECEIVED] * RANKS, f"{copied} bytes were copied", text)


def refused(jobs):
    """A device that takes dma-bufs but refuses this one ends the call with an error in words."""
    job = start(jobs, DMABUF_REFUSED="1")
    require(job.status() != 0, "nobody has failed", job.log)
    for words in ("of a dma-buf", "RONDO_NET_GDR_LEVEL=LOC"):
        require(words in job.text, f"'{words}' is not said", job.log)
