"""The guest as the cases see it: its devices, their counters, what the kernel keeps for them."""
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from running import require

DEVICES_SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "guest" / "devices"
LARGEST_MTU = 4200  # of the network devices; makes the largest active MTU of RoCE, 4096


def output_of(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"{' '.join(words)} ended with status {done.returncode}",
            done.stdout + done.stderr)
    return done.stdout


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


def processors_of_sockets():
    """["0", "2"]: the first processor of each NUMA node."""
    lists = sorted(pathlib.Path("/sys/devices/system/node").glob("node*/cpulist"))
    return [re.split("[,-]", each.read_text().strip())[0] for each in lists]


def set_carrier(interface, there):
    pathlib.Path("/sys/class/net", interface, "carrier").write_text("1" if there else "0")


def bytes_on_cable():
    """What rxe1's end has sent and received."""
    folder = pathlib.Path("/sys/class/net/veth1/statistics")
    return sum(int((folder / name).read_text()) for name in ("tx_bytes", "rx_bytes"))
