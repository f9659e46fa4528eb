"""The kernel's tables of sockets and files, and signals."""
import ipaddress
import os
import pathlib
import signal

LISTENS, STANDS = "0A", "01"  # states of TCP sockets


def shared_files():
    """Other programs' files come and go; what a job left would stay, and have rondo's name."""
    return {path.name for path in pathlib.Path("/dev/shm").iterdir()
            if "rondo" in path.name and path.is_file()}


def sockets_of(process):
    """Inodes of its sockets."""
    folder, found = f"/proc/{process}/fd", set()
    for name in os.listdir(folder):
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def parsed(table):
    """[(own address, port, state, inode)] of the text of /proc/net/tcp or tcp6."""
    rows = []
    for line in table.splitlines()[1:]:
        words = line.split()
        address, port = words[1].split(":")
        numbers = bytes.fromhex(address)  # of four bytes each, in this machine's order
        numbers = b"".join(numbers[at:at + 4][::-1] for at in range(0, len(numbers), 4))
        rows.append((str(ipaddress.ip_address(numbers)), int(port, 16), words[3], words[9]))
    return rows


def connections(process, name):
    return parsed(pathlib.Path(f"/proc/{process}/net/{name}").read_text())


def own_connections(process, state):
    """[(own address, port)] of the process's TCP sockets in this state."""
    inodes = sockets_of(process)
    return [(own, port) for name in ("tcp", "tcp6") for own, port, its, inode in connections(process, name)
            if its == state and inode in inodes]


def unix_listeners(process):
    """[(inode, name)] of listening sockets in the abstract space."""
    rows = [line.split() for line in pathlib.Path(f"/proc/{process}/net/unix").read_text().splitlines()[1:]]
    return [(row[6], row[7][1:]) for row in rows
            if len(row) > 7 and row[7].startswith("@") and int(row[3], 16) & 0x10000]


def send(process, number):
    """A signal; nothing where the process has ended."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def stop_all(processes):
    for process in processes:
        send(process, signal.SIGSTOP)


def go_on(processes):
    for process in processes:
        send(process, signal.SIGCONT)
