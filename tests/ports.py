"""A port for a test's own service, as tests/ports.h."""
import random
import socket


def free_port():
    """A port that nobody listens on, below the range that the kernel hands out to outgoing
    connections: no connection of a test beside this one can take it before it is used."""
    while True:
        port = random.randint(20000, 31999)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                pass  # somebody listens on it: another


def free_ports(count):
    """So many different ones."""
    ports = set()
    while len(ports) < count:
        ports.add(free_port())
    return list(ports)
