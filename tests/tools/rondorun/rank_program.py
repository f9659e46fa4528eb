#!/usr/bin/env python3
"""A rank for the launcher's tests: behaves in the way that its first argument names."""
import os
import signal
import socket
import sys

RANK = int(os.environ.get("RANK", "0"))


def put(stream, text):
    data = os.fsencode(text)
    while data:
        data = data[os.write(stream, data):]


def wait_forever():
    while True:
        signal.pause()


def announce():
    """Tells the test that this rank has come so far."""
    put(1, f"up {RANK} {os.getpid()}\n")


def environment(*names):
    """Prints one line with the values of these variables."""
    put(1, " ".join(f"{name}={os.environ.get(name, '(unset)')}" for name in names) + "\n")


def arguments(*words):
    """Prints its arguments, one a line, in brackets, and then its working directory."""
    put(1, "".join(f"[{word}]\n" for word in words) + os.getcwd() + "\n")


def read():
    put(1, f"rank {RANK} read '{sys.stdin.read()}'\n")


def up():
    announce()
    wait_forever()


def leave(status, rank):
    """That rank exits with this status, the others wait."""
    return int(status) if RANK == int(rank) else up()


def ignore(*numbers):
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


def crash():
    os.abort()


def stubborn():
    ignore(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
    up()


def polite():
    """Names each signal; exits with success after one that asks to end."""
    harmless = {signal.SIGUSR1, signal.SIGUSR2}
    signals = harmless | {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    announce()
    number = signal.SIGUSR1
    while number in harmless:
        number = signal.sigwait(signals)
        put(1, f"rank {RANK} got {int(number)}\n")


def flood(lines):
    """Writes so many lines to both streams, in pieces that end anywhere."""
    text = "".join(f"{RANK} {line} {'x' * (line % 97)}.\n" for line in range(int(lines)))
    for begin in range(0, len(text), 1009):
        put(1, text[begin:begin + 1009])
        put(2, text[begin:begin + 1009])


def show(text, wait=""):
    """Prints the text without a newline."""
    put(1, text)
    if wait:
        wait_forever()


def descriptors():
    folder = "/proc/self/fd"
    found = [int(name) for name in os.listdir(folder) if os.path.exists(f"{folder}/{name}")]
    put(1, " ".join(map(str, sorted(found))) + "\n")


def terminal():
    put(1, "a terminal\n" if os.isatty(1) else "no terminal\n")
    up()


def cores():
    put(1, f"{len(os.sched_getaffinity(0))}\n")


def daemon(then):
    """Starts a process that leaves group and terminal and ignores what can be ignored, and then exits, or
    waits if it is to "stay"."""
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        ignore(signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        put(writing, "x")
        wait_forever()
    os.read(reading, 1)
    os.waitpid(between, 0)  # the test counts processes
    announce()
    if then == "stay":
        wait_forever()


def peers(server):
    """All ranks meet at MASTER_PORT; those that see the server vanish exit with status 3."""
    place = "127.0.0.1", int(os.environ["MASTER_PORT"])
    if RANK == int(server):
        listener = socket.create_server(place)
        others = [listener.accept() for _ in range(int(os.environ["WORLD_SIZE"]) - 1)]
        announce()
        wait_forever()
        del others
    while True:
        try:
            connection = socket.create_connection(place)
            break
        except OSError:
            os.sched_yield()
    ignore(signal.SIGTERM)  # it says what it sees, however late
    try:
        connection.recv(1)
    except OSError:
        pass
    put(2, f"rank {RANK} lost rank {server}\n")
    return 3


if __name__ == "__main__":
    for default in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(default, signal.SIG_DFL)  # Python has its own ideas of them
    sys.exit(globals()[sys.argv[1]](*sys.argv[2:]))
