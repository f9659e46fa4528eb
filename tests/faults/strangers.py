#!/usr/bin/env python3
"""Strangers who connect to a job's ports, and stay until this program is ended.

    strangers.py garbage|slow|idle TARGET...     a target: ADDRESS:PORT, or unix:NAME in the abstract space

  garbage  several kinds of bytes that are none of rondo's, again and again
  slow     three connections to each target, on each the next byte of a greeting now and then
  idle     300 connections to each target that say nothing; a closed one is opened again

Says "here" once every target has been met.
"""
import random
import resource
import select
import socket
import sys
import time

IDLE, SLOW = 300, 3
PAUSE = 0.3  # seconds between two bytes, or two looks at closed connections
GREETING = b"RONDOCTL" + bytes(24)  # begins as a rank's
BYTES = random.Random(7)
GARBAGE = [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", bytes(70000), b"\xff" * 70000, b"RONDO" * 9,
           BYTES.randbytes(7), BYTES.randbytes(70000)]


def connected(target):
    """A connection that does not block; None where nobody listens any more."""
    name = target.removeprefix("unix:")
    there = "\0" + name if name != target else (name.rsplit(":", 1)[0], int(name.rsplit(":", 1)[1]))
    one = socket.socket(socket.AF_UNIX if name != target else socket.AF_INET)
    one.settimeout(5)
    try:
        one.connect(there)
    except OSError:
        one.close()
        return None
    one.setblocking(False)
    return one


def speak(one, text):
    """Whether the connection is still there."""
    try:
        one.send(text)
        return True
    except BlockingIOError:
        return True
    except OSError:
        return False


def is_open(one):
    """Reads what the other side says, and whether it has closed."""
    try:
        return one.recv(4096) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def garbage(targets):
    while True:
        for target in targets:
            for text in GARBAGE:
                if one := connected(target):
                    speak(one, text)
                    select.select([one], [], [], 0.05)  # it may answer, or close
                    one.close()
        yield


def staying(targets, count, text):
    """So many connections to each, each of which says the next byte of `text`, if there is one."""
    there, said = {}, {}
    while True:
        for key in [(target, number) for target in targets for number in range(count)]:
            one, at = there.get(key), said.get(key, 0)
            if one and is_open(one) and (at >= len(text) or speak(one, text[at:at + 1])):
                said[key] = at + 1
                continue
            if one:
                one.close()
            there[key], said[key] = connected(key[0]), 0
        yield


KINDS = {"garbage": garbage, "slow": lambda targets: staying(targets, SLOW, GREETING),
         "idle": lambda targets: staying(targets, IDLE, b"")}


def main(kind, *targets):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for number, _ in enumerate(KINDS[kind](targets)):
        if number == 0:
            print("here", flush=True)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main(*sys.argv[1:])
