"""Messages and sums in GPU memory of the stand-in for CUDA's driver."""
import re

from ports import free_port
from running import require

RANKS = 3
GENERATIONS, ROUNDS = 2, 2
SIZES = (1, 100, 5000, 70_000, 600_001)  # as in gpu_program.cc
SUMMED, REPLAYED = 90_000, 2 * 300_000
# Each message is copied into slots of the host's memory, and out of them.
COPIED = 2 * GENERATIONS * (ROUNDS * sum(SIZES) + SUMMED + REPLAYED)
END = re.compile(r"^rank \d+: streams copied (\d+) bytes, descriptors left: 0$", re.MULTILINE)


def by_the_host(jobs):
    """All results are right, whatever memory ncclMemAlloc gives."""
    for settings, said in (({}, ""), ({"FAKE_WITHOUT_SEGMENTS": "1"},
                                      "ncclMemAlloc uses cuMemAlloc: device 0 does not support")):
        text = jobs.start(RANKS, jobs.program("verbs_gpu_program"), str(GENERATIONS), str(ROUNDS),
                          RONDO_P2P_DISABLE="1", RONDO_IB_HCA="=rxe0", RONDO_DEBUG="INFO",
                          RONDO_COMM_ID=f"127.0.0.1:{free_port()}", **settings).require_success()
        require(said in text, f"it is not said that {said}", text)
        copied = [int(count) for count in END.findall(text)]
        require(copied == [COPIED] * RANKS, f"{copied} bytes were copied", text)
