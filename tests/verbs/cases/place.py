"""The guest as the cases see it: its devices, their counters, what the kernel keeps for them."""
import pathlib
import re
import subprocess
import threading
import time

DEVICES_SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "guest" / "devices"
LARGEST_MTU = 4200  # of the network devices; makes the largest active MTU of RoCE, 4096


class Failure(Exception):
    """What went wrong, with the log that shows it."""


def require(condition, text, log=""):
    if not condition:
        raise Failure(f"{text}\n{log}" if log else text)


class Clock:
    """Seconds since the start, without those in which the whole guest stood still. The host may stop an
    emulated machine, whose clock then jumps when it goes on."""

    LONGEST_TICK = 2.0

    def __init__(self):
        self._seconds = 0.0
        self._frozen = 0.0
        self._last = time.monotonic()
        self._lock = threading.Lock()
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self):
        while True:
            time.sleep(0.2)
            self.now()

    def now(self):
        with self._lock:
            now = time.monotonic()
            tick = min(now - self._last, self.LONGEST_TICK)
            self._seconds += tick
            self._frozen += now - self._last - tick
            self._last = now
            return self._seconds

    def frozen(self):
        """Seconds left out so far."""
        self.now()
        return self._frozen


CLOCK = Clock()


def wait_until(condition, seconds):
    """Whether the condition came true in time."""
    end = CLOCK.now() + seconds
    while not condition():
        if CLOCK.now() > end:
            return False
        time.sleep(0.05)
    return True


def output_of(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"{' '.join(words)} ended with status {done.returncode}",
            done.stdout + done.stderr)
    return done.stdout


class Begun:
    """A command that may take long, as the kernel may take long."""

    def __init__(self, *words):
        self._words = words
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         text=True)

    def has_ended(self):
        return self._process.poll() is not None

    def require_success(self, seconds):
        text = " ".join(self._words)
        require(wait_until(self.has_ended, seconds), f"{text} has not ended after {seconds} s",
                output_of("dmesg"))
        require(self._process.returncode == 0,
                f"{text} ended with status {self._process.returncode}", self._process.stdout.read())


def device_names():
    return re.findall(r"^link (\w+)/", output_of("rdma", "link"), re.MULTILINE)


def make_devices(mtu=LARGEST_MTU):
    """Makes the devices anew, whatever has become of them."""
    output_of("/bin/sh", str(DEVICES_SCRIPT), str(mtu))


def active_mtus():
    return re.findall(r"active_mtu:\s+(\d+)", output_of("ibv_devinfo"))


def resources():
    """{device: "pd 1 cq 1 qp 1 ..."}: what processes, or a leak, keep open."""
    lines = output_of("rdma", "resource", "show").splitlines()
    return {name: kept.strip() for name, kept in re.findall(r"\d+: (\w+): (.*)", "\n".join(lines))}


def queue_pairs_of(device):
    """Reliable connections that processes have."""
    return output_of("rdma", "resource", "show", "qp", "link", device).count("type RC")


def packets_sent(device):
    """The packets that an RDMA device has sent, also to itself."""
    path = pathlib.Path("/sys/class/infiniband", device, "ports/1/hw_counters/sent_pkts")
    return int(path.read_text())


def set_carrier(interface, there):
    pathlib.Path("/sys/class/net", interface, "carrier").write_text("1" if there else "0")


def bytes_on_cable():
    """What rxe1's end has sent and received."""
    folder = pathlib.Path("/sys/class/net/veth1/statistics")
    return sum(int((folder / name).read_text()) for name in ("tx_bytes", "rx_bytes"))
