#!/usr/bin/env python3
"""The cases of the verbs transport on real devices. Runs in the guest:

    tests/verbs/run -t 900 /usr/bin/python3 tests/verbs/suite.py build/check/bin

Prints one line for each case, and the log of each that failed. After every case the kernel must
keep no more resources for the devices than before the first.
"""
import argparse
import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().with_name("cases")))
import failures  # noqa: E402
import gpu  # noqa: E402
import place  # noqa: E402
import traffic  # noqa: E402
import running  # noqa: E402
from job import Jobs  # noqa: E402

FROZEN_SECONDS = 3  # longer than any emulated machine takes for its own work
MOST_TRIES = 4

CASES = [
    ("rondo rdma lists the devices", traffic.listing),
    ("the contract of transports", traffic.contract),
    ("4 processes on one device: every collective", traffic.one_device),
    ("2 + 2 processes on two devices across a cable", traffic.across_the_cable),
    ("every algorithm", traffic.every_algorithm),
    ("bench programs check their results", traffic.bench_programs),
    ("a schedule that a user wrote", traffic.written_schedule),
    ("puts and gets of windows", traffic.windows),
    ("threads as ranks", traffic.threads_as_ranks),
    ("sizes around a slot, unaligned", traffic.odd_sizes),
    ("small slots", traffic.small_slots),
    ("2 queue pairs a connection", traffic.some_queue_pairs),
    ("two devices at once", traffic.both_rails),
    ("active MTU 1024", traffic.small_packets),
    ("allocate() memory is sent from in place", traffic.from_place),
    ("GPU memory goes by way of the host's", gpu.by_the_host),
    ("two hosts: memory inside, devices between", traffic.two_hosts),
    ("ranks on two sockets: three levels", traffic.two_sockets),
    ("one host without devices: tcp", traffic.one_host_without_devices),
    ("a device that is not there", failures.no_such_device),
    ("kill -9 of a peer in small calls", failures.peer_killed_in_small_calls),
    ("kill -9 of a peer in large calls", failures.peer_killed_in_large_calls),
    ("a peer that stops", failures.peer_stopped),
    ("different numbers of queue pairs", failures.queue_pairs_differ),
    ("a port that flaps", failures.port_flaps),
    ("the cable is pulled", failures.cable_pulled),
    ("the cable loses everything", failures.cable_silent),
    ("the network device below is deleted", failures.network_device_deleted),
    ("a device is deleted", failures.device_deleted),
]


def run_case(function, jobs, kept):
    """Why it failed, else nothing."""
    try:
        function(jobs)
        if not running.wait_until(lambda: place.resources() == kept, 15):
            return f"the kernel keeps {place.resources()}, not {kept}"
    except running.Failure as failure:
        return "\n".join(map(str, failure.args))
    return None


def run_undisturbed(name, function, jobs, kept):
    """Does as run_case(). Ranks of a guest that stood still rightly take each other for lost. Such a
    failure says nothing, so the case is run again."""
    for _ in range(MOST_TRIES):
        frozen = running.CLOCK.frozen()
        reason = run_case(function, jobs, kept)
        frozen = running.CLOCK.frozen() - frozen
        if not reason or frozen < FROZEN_SECONDS:
            break
        print(f"again: the guest stood still for {frozen:.0f} s while it ran: {name}", flush=True)
        place.make_devices()
    return reason


def tell(name, reason, seconds):
    print(f"{'FAILED' if reason else 'ok':<6} {seconds:6.1f} s  {name}", flush=True)
    if reason:
        print("       | " + reason.replace("\n", "\n       | "), flush=True)


def run_all(cases, jobs):
    kept, failed = place.resources(), []
    for name, function in cases:
        begin = running.CLOCK.now()
        reason = run_undisturbed(name, function, jobs, kept)
        tell(name, reason, running.CLOCK.now() - begin)
        if reason:
            failed.append(name)
            place.make_devices()
            kept = place.resources()
    print(f"{len(cases) - len(failed)} of {len(cases)} cases passed in {running.CLOCK.now():.0f} s")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the programs are")
    parser.add_argument("--only", default="", metavar="PATTERN",
                        help="cases with this regular expression in the name")
    parser.add_argument("--transport", default="verbs", help="another to compare with, e.g. tcp")
    arguments = parser.parse_args()
    if "VERBS_GUEST" not in os.environ:
        parser.error("this takes devices down: run it in the guest, by tests/verbs/run")
    cases = [(name, function) for name, function in CASES if re.search(arguments.only, name)]
    if not cases:
        parser.error(f"no case is named '{arguments.only}'")
    return 1 if run_all(cases, Jobs(arguments.folder.resolve(), arguments.transport)) else 0


if __name__ == "__main__":
    sys.exit(main())
