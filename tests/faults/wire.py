#!/usr/bin/env python3
"""A cable that can go bad: carries frames between two network devices of this namespace.

    wire.py DEVICE DEVICE       reads a command from each line of standard input:

  deaf first     no frame of the first device gets to the second any more; deaf second: the other way
  flip BYTES     turns a bit round in the next TCP segment that carries at least so many bytes

The checksum of a changed segment is right, so no kernel drops it: as if a switch had a bad memory.
tests/faults/faults.py lays it between a host of a testbed and its switch.
"""
import select
import socket
import struct
import sys

SOL_PACKET, PACKET_VNET_HDR = 263, 15
EVERY_PROTOCOL = 3
HEADER = struct.Struct("<BBHHHH")  # before each frame: how the kernel may cut it, and its checksum
CHECKSUM_TO_BE_MADE = 1            # in HEADER: the checksum does not cover the payload yet
LONGEST = HEADER.size + (1 << 16) + 64
ETHERNET = 14


def end_of(device):
    """Frames come and go whole, up to 64 KiB, with HEADER before them."""
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
    end.bind((device, EVERY_PROTOCOL))
    return end


def payload_of(frame):
    """(start of the TCP header, start of its payload, end) in a frame with HEADER; None: no TCP."""
    ip = HEADER.size + ETHERNET
    if len(frame) < ip + 40 or frame[ip - 2:ip] != b"\x08\x00" or frame[ip + 9] != socket.IPPROTO_TCP:
        return None
    tcp = ip + 4 * (frame[ip] & 15)
    return tcp, tcp + 4 * (frame[tcp + 12] >> 4), ip + int.from_bytes(frame[ip + 2:ip + 4], "big")


def flip(frame, least):
    """Whether the frame carries so many bytes; then a bit of them is another one, unnoticed by TCP."""
    found = payload_of(frame)
    if not found or found[2] - found[1] < least:
        return False
    tcp, start, end = found
    at = (start + end) // 2
    word = at - (at - tcp) % 2  # the checksum adds words of 16 bits
    old = int.from_bytes(frame[word:word + 2], "big")
    frame[at] ^= 0x10
    new = int.from_bytes(frame[word:word + 2], "big")
    if not frame[0] & CHECKSUM_TO_BE_MADE:
        total = (~int.from_bytes(frame[tcp + 16:tcp + 18], "big") & 0xffff) + (~old & 0xffff) + new
        total = (total & 0xffff) + (total >> 16)
        total = (total & 0xffff) + (total >> 16)
        frame[tcp + 16:tcp + 18] = (~total & 0xffff).to_bytes(2, "big")
    return True


class Wire:
    def __init__(self, first, second):
        self.ends = [end_of(first), end_of(second)]
        self.deaf = [False, False]
        self.least = 0  # of a segment to change; 0: none

    def obey(self, line):
        word, value = line.split()
        if word == "deaf":
            self.deaf[("first", "second").index(value)] = True
        elif word == "flip":
            self.least = int(value)
        print(f"obeyed {word}", flush=True)

    def carry(self, side, buffer):
        length, place = self.ends[side].recvfrom_into(buffer)
        if place[2] == socket.PACKET_OUTGOING or self.deaf[side]:
            return
        frame = buffer[:length]
        if self.least and flip(frame, self.least):
            self.least = 0
            print("flipped a bit", flush=True)
        try:
            self.ends[1 - side].send(frame)
        except OSError:
            pass  # lost, as on a cable

    def run(self):
        buffer = memoryview(bytearray(LONGEST))
        commands = sys.stdin
        print("carries", flush=True)
        while True:
            for ready in select.select([*self.ends, commands], [], [])[0]:
                if ready is not commands:
                    self.carry(self.ends.index(ready), buffer)
                elif line := commands.readline():
                    self.obey(line)
                else:
                    return


if __name__ == "__main__":
    Wire(*sys.argv[1:3]).run()
