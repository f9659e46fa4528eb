"""One measurement by a program of perftest, between the two devices of the guest."""
import re
import subprocess
import time

PORT = 18515
SERVER = ("rxe2", "10.77.1.2")
CLIENT = "rxe1"
MEGABYTE = 1 << 20  # what perftest calls MB


class Failure(Exception):
    pass


def is_listening(port):
    """The state of a listening socket is 0A in /proc/net/tcp."""
    wanted = f":{port:04X} "
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(path) as table:
            if any(wanted in line and " 0A " in line for line in table):
                return True
    return False


def run(program, size, iterations, *more):
    """The columns of its row of results."""
    # Each end has a core of its own, as in link_rate.
    on_core = ["taskset", "-c"]
    words = [program, "-F", "-x", "1", "-s", str(size), "-n", str(iterations), "-p", str(PORT),
             *more]
    server = subprocess.Popen([*on_core, "1", *words, "-d", SERVER[0]], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    try:
        while not is_listening(PORT):
            if server.poll() is not None:
                raise Failure(f"{' '.join(words)}:\n{server.stdout.read()}")
            time.sleep(0.02)
        client = subprocess.run([*on_core, "0", *words, "-d", CLIENT, SERVER[1]],
                                capture_output=True, text=True, timeout=60)
        server.communicate(timeout=60)
    finally:
        server.kill()
        server.wait()
    row = re.search(rf"^\s*{size}\s+\d+\s+(.*)$", client.stdout, re.MULTILINE)
    if client.returncode != 0 or not row:
        raise Failure(f"{' '.join(words)}:\n{client.stdout}{client.stderr}")
    return [float(column) for column in row[1].split()]


def rate(program, size, count, queue_pairs):
    """Bytes a second. Columns: peak, average, messages."""
    return run(program, size, count, "-q", str(queue_pairs))[1] * MEGABYTE


def latency(program, size, rounds):
    """Seconds one way, the median. Columns: least, greatest, typical..."""
    return run(program, size, rounds)[2] * 1e-6
