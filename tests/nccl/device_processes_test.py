#!/usr/bin/env python3
"""Processes whose collectives go from device to device: moving, replayed graphs, a killed one.

LIBNCCL_PATH and LIBCUDA_PATH name the libraries; without the latter the machine's own driver is
taken. Run as `device_processes_test.py rank WHAT N OF IDFILE` this is one rank.
"""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import client
from device_client_test import Device

BYTE = 1  # ncclUint8
HALF = 4 << 20  # bytes of a slice
SIZES = [1, 5000, HALF + 3]
PATIENCE = 120  # seconds


def pattern(rank, size):
    """Differs by rank and place."""
    piece = bytes((i * 7 + i // 251 + rank * 41) % 256 for i in range(9973))
    return (piece * (size // len(piece) + 1))[:size]


class Memory:
    """A block of the device's."""

    def __init__(self, device, content):
        self.device = device
        self.size = len(content)
        self.address = ctypes.c_ulonglong()
        device.call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(self.size))
        self.set(content)

    def set(self, content):
        self.device.call("cuMemcpyHtoD_v2", self.address, content, ctypes.c_size_t(self.size))

    def get(self):
        content = ctypes.create_string_buffer(self.size)
        self.device.call("cuMemcpyDtoH_v2", content, self.address, ctypes.c_size_t(self.size))
        return content.raw

    def pointer(self):
        return ctypes.c_void_p(self.address.value)

    def free(self):
        self.device.call("cuMemFree_v2", self.address)


class Rank:
    def __init__(self, rank, ranks, path):
        self.rank, self.ranks = rank, ranks
        self.device = Device()
        self.library = client.Library()
        made = client.UniqueId.from_buffer_copy(pathlib.Path(path).read_bytes())
        self.comm = self.library.join(made, ranks, rank)
        self.stream = self.device.stream()

    def broadcast(self, memory, root):
        self.library.call("ncclBroadcast", memory.pointer(), memory.pointer(),
                          ctypes.c_size_t(memory.size), BYTE, root, self.comm, self.stream)

    def exchange(self, sent, received, size):
        self.library.call("ncclGroupStart")
        for peer in range(self.ranks):
            for name, memory in (("ncclSend", sent), ("ncclRecv", received)):
                address = ctypes.c_void_p(memory.address.value + peer * size)
                self.library.call(name, address, ctypes.c_size_t(size), BYTE, peer, self.comm,
                                  self.stream)
        self.library.call("ncclGroupEnd")

    def finish(self):
        self.device.call("cuStreamSynchronize", self.stream)

    def check(self, what, got, wanted):
        if got != wanted:
            sys.exit(f"rank {self.rank}: {what} of {len(wanted)} bytes is wrong")

    def move(self):
        """Broadcast, all-gather and all-to-all of every size, the latter by messages, too."""
        ranks = range(self.ranks)
        for size in SIZES:
            one = Memory(self.device, pattern(self.rank, size))
            every = Memory(self.device, bytes(size * self.ranks))
            each = Memory(self.device, b"".join(pattern(self.rank + 10 * to, size) for to in ranks))
            count = ctypes.c_size_t(size)
            self.library.call("ncclAllGather", one.pointer(), every.pointer(), count, BYTE,
                              self.comm, self.stream)
            self.finish()
            self.check("all_gather", every.get(), b"".join(pattern(at, size) for at in ranks))
            self.library.call("ncclAlltoAll", each.pointer(), every.pointer(), count, BYTE,
                              self.comm, self.stream)
            self.finish()
            self.check("all_to_all", every.get(),
                       b"".join(pattern(at + 10 * self.rank, size) for at in ranks))
            every.set(bytes(every.size))
            self.exchange(each, every, size)
            self.finish()
            self.check("messages", every.get(),
                       b"".join(pattern(at + 10 * self.rank, size) for at in ranks))
            self.broadcast(one, self.ranks - 1)
            self.finish()
            self.check("broadcast", one.get(), pattern(self.ranks - 1, size))
            for memory in (one, every, each):
                memory.free()
        self.library.call("ncclCommDestroy", self.comm)

    def replay(self):
        """A graph of two broadcasts, three times."""
        memory = Memory(self.device, bytes(HALF + 100))
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        self.device.call("cuStreamBeginCapture_v2", self.stream, 1)
        self.broadcast(memory, 0)
        self.broadcast(memory, 1)
        self.device.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.device.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph,
                         ctypes.c_ulonglong(0))
        self.device.call("cuGraphDestroy", graph)
        for turn in range(3):
            memory.set(pattern(self.rank + turn, memory.size))
            self.device.call("cuGraphLaunch", ready, self.stream)
            self.finish()
            self.check("broadcast", memory.get(), pattern(turn, memory.size))
        self.device.call("cuGraphExecDestroy", ready)
        memory.free()
        self.library.call("ncclCommDestroy", self.comm)

    def die(self):
        """The last rank is killed in the middle of a call; the others are told so."""
        memory = Memory(self.device, pattern(self.rank, 3 * HALF))
        self.broadcast(memory, 0)
        self.finish()
        if self.rank == self.ranks - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        self.broadcast(memory, self.ranks - 1)
        self.finish()  # comes to its end
        state = ctypes.c_int(client.SUCCESS)
        while state.value in (client.SUCCESS, 7):  # 7: in progress
            self.library.call("ncclCommGetAsyncError", self.comm, ctypes.byref(state))
        print(state.value, self.library.last_error(), flush=True)
        self.library.call("ncclCommAbort", self.comm)


class Processes(unittest.TestCase):
    def run_ranks(self, what, ranks, **environment):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "id"
            server = client.Library()
            path.write_bytes(bytes(server.unique_id()))
            processes = [subprocess.Popen(
                [sys.executable, __file__, "rank", what, str(rank), str(ranks), str(path)],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env={**os.environ, "RONDO_DEBUG": "INFO", **environment}) for rank in range(ranks)]
            try:
                return [(process.communicate(timeout=PATIENCE)[0], process.returncode)
                        for process in processes]
            finally:
                for process in processes:
                    process.kill()

    def check_all(self, said, words):
        for text, status in said:
            self.assertEqual(status, 0, text)
            self.assertIn(words, text)

    def test_everything_moves_from_device_to_device(self):
        for ranks in (2, 4):
            self.check_all(self.run_ranks("move", ranks), "from device to device")

    def test_graphs_are_replayed(self):
        self.check_all(self.run_ranks("replay", 2), "from device to device")

    def test_it_can_be_switched_off(self):
        self.check_all(self.run_ranks("move", 2, NCCL_P2P_DISABLE="1"),
                       "through the host's memory: rank 0: RONDO_P2P_DISABLE=1")

    def test_a_killed_rank_is_told_of(self):
        said = self.run_ranks("die", 3)
        self.assertEqual(said[2][1], -signal.SIGKILL)
        for text, status in said[:2]:
            self.assertEqual(status, 0, text)
            self.assertIn(f"\n{client.REMOTE_ERROR} ", "\n" + text)
            self.assertIn("rank 2", text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        getattr(Rank(int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]), sys.argv[2])()
    else:
        unittest.main()
