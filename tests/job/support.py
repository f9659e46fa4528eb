"""What the tests of whole jobs share."""
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS), str(TESTS / "faults")]

import kernel  # noqa: E402


def wait_for_a_hello(job, rank):
    """Until the rank has a TCP connection and sleeps: it has said everything, and listens."""
    process = job.rank(rank)

    def sleeps():
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state == "S" and kernel.own_connections(process, kernel.STANDS)

    job.wait_until(sleeps, "a hello")
