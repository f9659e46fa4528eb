#!/usr/bin/env python3
"""Measures in the guest, in turns, and writes the samples as JSON. bench/rdma/run starts it."""
import argparse
import functools
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import perftest  # noqa: E402

SMALL = 8
LATENCY_ROUNDS = 4000  # a sixth of a second: what lasts only milliseconds falls out
# Bytes of a message, and how many of them make a measurement: long enough to mean something, on
# devices that move some 30 MB/s.
STREAMS = {4096: 2000, 65536: 250, 1 << 20: 24}
LARGE = max(STREAMS)
QUEUE_PAIRS = (1, 2)
FULL_EVERY = 5  # rounds, one has all rows of the table

ENVIRONMENT = {"LINK_RATE_HCAS": "rxe1 rxe2", "LINK_RATE_ADDRESSES": "10.77.1.1 10.77.1.2",
               "LINK_RATE_INTERFACES": "veth1 veth2"}

# tcp connects from no address of its own choice: then, too, packets go by the cable.
RULES = ("rule add pref 13 from 0.0.0.0/32 to 10.77.1.2 lookup 101",
         "rule add pref 14 from 0.0.0.0/32 to 10.77.1.1 lookup 102")


def link_rate(program, way, queue_pairs, sizes):
    """{(way, what, bytes): value}, measured by one pair of processes."""
    work = [f"latency:{SMALL}:{LATENCY_ROUNDS}"] if queue_pairs == 1 else []
    work += [f"rate:{size}:{STREAMS[size]}" for size in sizes]
    before = bytes_on_cable()
    done = subprocess.run([program, way, str(queue_pairs), *work], capture_output=True, text=True,
                          env={**os.environ, **ENVIRONMENT}, timeout=300)
    if done.returncode != 0:
        raise perftest.Failure(f"{program} {way} {queue_pairs} {work}:\n{done.stderr}")
    if bytes_on_cable() - before < sum(size * STREAMS[size] for size in sizes):
        raise perftest.Failure(f"{way} has not gone by the cable")
    lines = [line.split() for line in done.stdout.splitlines()]
    return {(way, what, int(size)): float(value) for what, size, value in lines}


def bytes_on_cable():
    folder = pathlib.Path("/sys/class/net/veth1/statistics")
    return sum(int((folder / name).read_text()) for name in ("tx_bytes", "rx_bytes"))


def latencies(programs):
    return {(program, "latency", SMALL): perftest.latency(program, SMALL, LATENCY_ROUNDS)
            for program in programs}


def rates(programs, sizes, queue_pairs):
    return {(program, "rate", size): perftest.rate(program, size, STREAMS[size], queue_pairs)
            for size in sizes for program in programs}


def brief_round(program):
    """[(queue pairs, {...})]: what the verdicts on perftest need. Speeds here change within seconds, so
    many short rounds tell more than a few long ones. Each program of perftest stands between two runs
    of rondo, whose mean counts. So a steady drift falls out."""
    parts = []
    for queue_pairs in QUEUE_PAIRS:
        rondo = functools.partial(link_rate, program, "verbs", queue_pairs, [LARGE])
        parts.append((queue_pairs, rondo()))
        if queue_pairs == 1:
            parts.append((1, latencies(["ib_write_lat"])))
        parts += [(queue_pairs, rates(["ib_write_bw"], [LARGE], queue_pairs)),
                  (queue_pairs, rondo())]
    return parts


def latency_round(program):
    """perftest, rondo twice, and perftest again. It takes seconds, so that many rounds find time."""
    rondo = functools.partial(link_rate, program, "verbs", 1, [])
    return [(1, latencies(["ib_write_lat"])), (1, rondo()), (1, rondo()),
            (1, latencies(["ib_write_lat"]))]


def full_round(program):
    parts = [(1, latencies(["ib_write_lat", "ib_send_lat"]))]
    for queue_pairs in QUEUE_PAIRS:
        parts += [(queue_pairs, link_rate(program, "verbs", queue_pairs, STREAMS)),
                  (queue_pairs, rates(["ib_write_bw", "ib_send_bw"], STREAMS, queue_pairs))]
    return parts + [(1, link_rate(program, way, 1, STREAMS)) for way in ("tcp", "socket")]


def one_round(measure, program):
    """[(by whom, what, bytes, queue pairs, value)]. What was measured twice is given by its mean."""
    values = {}
    for queue_pairs, part in measure(program):
        for key, value in part.items():
            values.setdefault((*key, queue_pairs), []).append(value)
    return [(*key, statistics.mean(several)) for key, several in values.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="link_rate")
    parser.add_argument("--seconds", type=float, default=60, help="start no round after these")
    parser.add_argument("--rounds", type=int, default=25, help="at most")
    parser.add_argument("--brief", action="store_true", help="only what the verdicts need")
    parser.add_argument("--latency", action="store_true", help="only latencies")
    arguments = parser.parse_args()
    seldom = latency_round if arguments.latency else brief_round
    for rule in RULES:
        subprocess.run(["ip", *rule.split()], check=True)
    rounds, begin = [], time.monotonic()
    while len(rounds) < arguments.rounds:
        full = not arguments.brief and not arguments.latency and len(rounds) % FULL_EVERY == 0
        rounds.append(one_round(full_round if full else seldom, arguments.program))
        print(f"round {len(rounds)} after {time.monotonic() - begin:.0f} s", file=sys.stderr,
              flush=True)
        if time.monotonic() - begin > arguments.seconds:
            break
    json.dump({"kernel": platform.release(), "rounds": rounds}, sys.stdout)


if __name__ == "__main__":
    try:
        main()
    except perftest.Failure as failure:
        sys.exit(f"measure.py: {failure}")
