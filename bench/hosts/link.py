#!/usr/bin/env python3
"""What one link of a testbed carries: TCP payload from one host to another, in GB/s.

With iperf3; without it by a stream of our own:  link.py serve | link.py send ADDRESS SECONDS
"""
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import time

PORT = 5201
BLOCK = 1 << 17
LIMIT = 60  # seconds for any of it


def payload_rate(testbed, seconds=3):
    """(GB/s from host 1 to host 0, what measured it)."""
    if shutil.which("iperf3"):
        return iperf3_rate(testbed, seconds), "iperf3"
    return own_rate(testbed, seconds), "a stream of bench/hosts/link.py (iperf3 is not installed)"


def iperf3_rate(testbed, seconds):
    server_words = testbed.on(0, "iperf3", "--server", "--one-off", "--forceflush")
    with subprocess.Popen(server_words, stdout=subprocess.PIPE, text=True) as server:
        wait_for_line(server, "listening")
        # The first second is left out: the connection finds its speed in it.
        done = subprocess.run(
            testbed.on(1, "iperf3", "--client", "h0", "--time", seconds, "--omit", 1, "--json"),
            capture_output=True, text=True, timeout=LIMIT)
        finish(server)
    report = json.loads(done.stdout)
    if "error" in report:
        raise RuntimeError(f"iperf3: {report['error']}")
    return report["end"]["sum_received"]["bits_per_second"] / 8e9


def own_rate(testbed, seconds):
    script = pathlib.Path(__file__).resolve()
    with subprocess.Popen(testbed.on(0, sys.executable, script, "serve"), stdout=subprocess.PIPE,
                          text=True) as server:
        wait_for_line(server, "listening")
        subprocess.run(testbed.on(1, sys.executable, script, "send", "h0", seconds + 1),
                       check=True, timeout=LIMIT)
        rate = float(server.stdout.readline())
        finish(server)
    return rate


def wait_for_line(process, text):
    for line in process.stdout:
        if text in line:
            return
    raise RuntimeError("the server of the link's measurement ended at once")


def finish(process):
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()


def serve():
    with socket.create_server(("", PORT)) as listener:
        print("listening", flush=True)
        connection = listener.accept()[0]
    with connection:
        block = bytearray(BLOCK)
        settled = time.monotonic() + 1
        while time.monotonic() < settled and connection.recv_into(block):
            pass
        start, received = time.monotonic(), 0
        while count := connection.recv_into(block):
            received += count
        print(received / (time.monotonic() - start) * 1e-9, flush=True)


def send(address, seconds):
    block = bytes(BLOCK)
    end = time.monotonic() + seconds
    with socket.create_connection((address, PORT)) as connection:
        while time.monotonic() < end:
            connection.sendall(block)


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else send(sys.argv[2], float(sys.argv[3]))
