"""A schedule that a person wrote carries PyTorch's calls: the one of the page about them."""

import os
import pathlib
import re
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from running import Running, require

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RONDORUN = pathlib.Path(os.environ.get("BINARIES", REPOSITORY / "build/check/bin")) / "rondorun"
PAGE = REPOSITORY / "tools/examples/schedules/README.md"

BROADCASTS = """
import torch, torch.distributed as distributed
distributed.init_process_group("rondo")
tensor = torch.full((1000,), float(distributed.get_rank()))
distributed.broadcast(tensor, 1)
assert tensor.eq(1).all(), tensor
distributed.destroy_process_group()
print("right", flush=True)
"""


def broadcast_by(text):
    with tempfile.TemporaryDirectory() as folder:
        schedule = pathlib.Path(folder, "line.schedule")
        schedule.write_text(text)
        with Running(RONDORUN, "-n", "4", sys.executable, "-c", BROADCASTS, RONDO_SCHEDULES=schedule,
                     RONDO_DEBUG="INFO", OMP_NUM_THREADS="1") as job:
            return job.status(), job.text


def main():
    written = re.search(r"```\n(collective broadcast\n.*?)```", PAGE.read_text(), re.DOTALL)[1]
    status, said = broadcast_by(written)
    require(status == 0 and said.count("right") == 4, "the job fails", said)
    require("broadcast of 1000 x float32: line over" in said, "another schedule was used", said)
    sends = "send output[0] to (r+1) % P"
    require(sends in written, "the page has another line now", written)
    status, said = broadcast_by(written.replace(sends, "send output[0] to (r+2) % P"))
    require(status != 0 and "line" in said and "right" not in said, "it is wrong, and nobody says so", said)
    print("passed")


main()
