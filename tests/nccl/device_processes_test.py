#!/usr/bin/env python3
"""Processes whose collectives go from device to device: sums, calls that move data, replayed graphs,
windows that peers use, a killed process.

LIBNCCL_PATH and LIBCUDA_PATH name the libraries; without the latter the machine's own driver is
taken. client.start_ranks() starts this script for each rank.
"""

import ctypes
import os
import signal
import struct
import sys
import unittest

import client
from client import Device, Memory, pattern, patterns_sum
from running import end_all, wait_until

BYTE = 1  # ncclUint8
SYMMETRIC = 1  # NCCL_WIN_COLL_SYMMETRIC
HALF = 4 << 20  # bytes of a slice
SIZES = [1, 5000, HALF + 3]
IN_WINDOW = 200_000  # bytes of an all-reduce that uses windows, where each rank has a device
OWN_DEVICES = os.environ.get("DEVICES") == "own"  # a device for each rank
STAND_IN = "LIBCUDA_PATH" in os.environ
WITH_KERNELS = os.environ.get("WITH_KERNELS") != "0"
ON_HOST = int(os.environ.get("ON_HOST", 0))  # ranks that take each other for one host; 0: all


class Rank:
    memory = Memory  # the kind of memory that windows are on

    def __init__(self, rank, ranks, made):
        self.rank, self.ranks = int(rank), int(ranks)
        self.device, self.stream = None, None
        if ON_HOST:
            os.environ["RONDO_HOSTID"] = f"host{self.rank // ON_HOST}"
        if self.rank == 0 or os.environ.get("DEVICES") != "first":
            self.device = Device(self.rank if OWN_DEVICES else 0)
            self.stream = self.device.stream()
        self.library, self.comm = client.joined(rank, ranks, made)

    def broadcast(self, memory, root):
        self.library.call("ncclBroadcast", memory.pointer(), memory.pointer(),
                          ctypes.c_size_t(memory.size), BYTE, root, self.comm, self.stream)

    def window(self, memory, begin, size):
        made = ctypes.c_void_p()
        self.library.call("ncclCommWindowRegister", self.comm, memory.pointer(begin),
                          ctypes.c_size_t(size), ctypes.byref(made), SYMMETRIC)
        return made

    def deregister(self, window):
        self.library.call("ncclCommWindowDeregister", self.comm, window)

    def all_reduce(self, memory, size, begin=0):
        self.library.call("ncclAllReduce", memory.pointer(begin), memory.pointer(begin),
                          ctypes.c_size_t(size), BYTE, client.SUM, self.comm, self.stream)

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

    def sum_floats(self):
        """One float, less than a slot, and many slices."""
        for count in (1, 1000, 3_000_000):
            memory = Memory(self.device, struct.pack("f", self.rank + 1) * count)
            self.library.call("ncclAllReduce", memory.pointer(), memory.pointer(), ctypes.c_size_t(count),
                              client.FLOAT, client.SUM, self.comm, self.stream)
            self.finish()
            self.check("all_reduce", memory.get(), struct.pack("f", sum(range(1, self.ranks + 1))) * count)
            memory.free()
        self.library.call("ncclCommDestroy", self.comm)

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
        ready = self.capture(lambda: [self.broadcast(memory, root) for root in range(2)])
        for turn in range(3):
            memory.set(pattern(self.rank + turn, memory.size))
            self.device.call("cuGraphLaunch", ready, self.stream)
            self.finish()
            self.check("broadcast", memory.get(), pattern(turn, memory.size))
        self.device.call("cuGraphExecDestroy", ready)
        memory.free()
        self.library.call("ncclCommDestroy", self.comm)

    def windows(self):
        """Two windows in one allocation, to read from and to write to; one is given back."""
        ranks = range(self.ranks)
        for size in SIZES:
            block = size * self.ranks
            memory = self.memory(self.device, bytes(2 * block))
            output = memory.pointer(block)
            made = [self.window(memory, begin, block) for begin in (0, block)]
            for turn in range(3):
                memory.set(b"".join(pattern(self.rank + 10 * to, size) for to in ranks)
                           + bytes(block))
                self.library.call("ncclAlltoAll", memory.pointer(), output, ctypes.c_size_t(size),
                                  BYTE, self.comm, self.stream)
                self.finish()
                self.check("all_to_all", memory.get()[block:],
                           b"".join(pattern(at + 10 * self.rank, size) for at in ranks))
                self.library.call("ncclAllGather", memory.pointer(), output,
                                  ctypes.c_size_t(size), BYTE, self.comm, self.stream)
                self.finish()
                self.check("all_gather", memory.get()[block:],
                           b"".join(pattern(at, size) for at in ranks))
                self.all_reduce(memory, size)
                self.finish()
                self.check("all_reduce", memory.get()[:size], patterns_sum(ranks, size))
                if turn == 1:
                    self.deregister(made[0])
            self.deregister(made[1])
            memory.free()
        launches = getattr(self.device.driver, "fake_window_launches", None)
        if OWN_DEVICES and WITH_KERNELS and launches and launches() == 0:
            sys.exit(f"rank {self.rank}: no call has used windows")
        self.library.call("ncclCommDestroy", self.comm)

    def mappings(self):
        """How many mappings this process has of others' memory. None: the driver does not count."""
        count = getattr(self.device.driver, "fake_calls", None)
        return count and count(b"cuIpcOpenMemHandle") - count(b"cuIpcCloseMemHandle")

    def capture(self, body):
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        self.device.call("cuStreamBeginCapture_v2", self.stream, 1)
        body()
        self.device.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.device.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph,
                         ctypes.c_ulonglong(0))
        self.device.call("cuGraphDestroy", graph)
        return ready

    def sum(self, memory):
        """All-reduces the ranks' patterns that `memory` holds, and checks the sums."""
        self.all_reduce(memory, memory.size)
        self.finish()
        self.check("all_reduce", memory.get(), patterns_sum(range(self.ranks), memory.size))

    def sum_in_window(self, capture=lambda call: None):
        """Sums in a window, then frees its memory. Returns the mappings left, and what `capture` said."""
        memory = self.memory(self.device, pattern(self.rank, IN_WINDOW))
        window = self.window(memory, 0, memory.size)
        self.sum(memory)
        captured = capture(lambda: self.all_reduce(memory, memory.size))
        self.deregister(window)
        memory.free()
        return self.mappings(), captured

    def window_loop(self):
        """Nothing stays mapped after a window, except while there is a graph of a call on it."""
        memory = self.memory(self.device, pattern(self.rank, IN_WINDOW))
        apart = self.capture(lambda: self.all_reduce(memory, memory.size))
        before = self.mappings()
        for _ in range(10):
            if self.sum_in_window()[0] != before:
                sys.exit(f"rank {self.rank}: {self.mappings()} are mapped, not {before}")
        mapped, graph = self.sum_in_window(self.capture)
        if before is not None and mapped != before + self.ranks - 1:
            sys.exit(f"rank {self.rank}: {mapped} are mapped with a graph, {before} without")
        self.device.call("cuGraphExecDestroy", graph)
        left = 1
        while left != 0:  # the driver says in its own time that the graph is gone
            mapped = self.sum_in_window()[0]
            count = Memory(self.device, bytes([mapped != before]))
            self.all_reduce(count, 1)
            self.finish()
            left = count.get()[0]
            count.free()
        self.device.call("cuGraphExecDestroy", apart)
        memory.free()
        self.library.call("ncclCommDestroy", self.comm)

    def die_in_window(self):
        """The last rank is killed while others wait to use its window."""
        memory = self.memory(self.device, pattern(self.rank, IN_WINDOW))
        self.window(memory, 0, memory.size)
        self.all_reduce(memory, memory.size)
        self.finish()
        if self.rank == self.ranks - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        self.tell_failure(lambda: self.all_reduce(memory, memory.size))
        memory.free()
        self.wait_until_all_is_free()

    def die(self):
        """The last rank is killed in the middle of a call; the others are told so."""
        memory = Memory(self.device, pattern(self.rank, 3 * HALF))
        self.broadcast(memory, 0)
        self.finish()
        if self.rank == self.ranks - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        self.tell_failure(lambda: self.broadcast(memory, self.ranks - 1))
        memory.free()
        self.wait_until_all_is_free()

    def vanish(self):
        """The last rank ends after its last call, and destroys nothing."""
        memory = Memory(self.device, pattern(self.rank, 100))
        self.broadcast(memory, 0)
        self.finish()
        if self.rank == self.ranks - 1:
            os._exit(0)
        memory.free()
        self.library.call("ncclCommDestroy", self.comm)
        self.wait_until_all_is_free()

    def end_beside_capture(self, function):
        """Ends the communicator while another library's stream is captured in global mode."""
        memory = Memory(self.device, pattern(self.rank, 100))
        self.all_reduce(memory, memory.size)  # when it is complete here, all ranks have made it
        self.finish()
        captured, graph = self.device.stream(), ctypes.c_void_p()
        self.device.call("cuStreamBeginCapture_v2", captured, 0)
        self.library.call(function, self.comm)
        blocks = getattr(self.device.driver, "fake_blocks", lambda: 1)
        if not wait_until(lambda: blocks() == 1, 120):
            sys.exit(f"rank {self.rank}: {blocks()} blocks of memory were not given back")
        self.device.call("cuStreamEndCapture", captured, ctypes.byref(graph))
        memory.free()

    def destroy_beside_capture(self):
        self.end_beside_capture("ncclCommDestroy")

    def abort_beside_capture(self):
        self.end_beside_capture("ncclCommAbort")

    def tell_failure(self, call):
        try:
            call()
        except RuntimeError:
            pass  # it is known already
        self.finish()  # the call comes to its end
        state = ctypes.c_int(client.SUCCESS)
        while state.value in (client.SUCCESS, 7):  # 7: in progress
            self.library.call("ncclCommGetAsyncError", self.comm, ctypes.byref(state))
        client.say(f"{state.value} {self.library.last_error()}")
        self.library.call("ncclCommAbort", self.comm)

    def wait_until_all_is_free(self):
        """Waits until no memory is taken in the driver's stand-in; a real driver cannot tell."""
        blocks = getattr(self.device.driver, "fake_blocks", None)
        if blocks is not None and not wait_until(lambda: blocks() == 0, 120):
            sys.exit(f"rank {self.rank}: {blocks()} blocks of memory were not given back")
        print("all memory was given back", flush=True)


# For sums in windows, which go through the host's memory in a build without device kernels.
needs_kernels = unittest.skipUnless(WITH_KERNELS, "this build has no device kernels")


class Job(unittest.TestCase):
    script = __file__

    def run_ranks(self, what, ranks, **environment):
        """[(what it said, status)] by rank."""
        started = client.start_ranks(ranks, self.script, what, **{"RONDO_DEBUG": "INFO", **environment})
        return [(text, status) for status, text in end_all(started)]

    def check_all(self, said, words):
        for text, status in said:
            self.assertEqual(status, 0, text)
            self.assertIn(words, text)

    def check_last_was_killed(self, said):
        """The others name it in their error, and give back all memory."""
        self.assertEqual(said[-1][1], -signal.SIGKILL)
        for text, status in said[:-1]:
            self.assertEqual(status, 0, text)
            self.assertIn(f"\n{client.REMOTE_ERROR} ", "\n" + text)
            self.assertIn(f"rank {len(said) - 1}", text)
            self.assertIn("\nall memory was given back", text)


class Processes(Job):
    def test_processes_sum(self):
        for text, status in self.run_ranks("sum_floats", 3):
            self.assertEqual(status, 0, text)

    def test_everything_moves_from_device_to_device(self):
        for ranks in (2, 4):
            self.check_all(self.run_ranks("move", ranks), "from device to device")

    def test_graphs_are_replayed(self):
        self.check_all(self.run_ranks("replay", 2), "from device to device")

    def test_hosts_with_two_ranks_each_take_steps(self):
        for what in ("sum_floats", "move", "replay"):
            self.check_all(self.run_ranks(what, 4, ON_HOST="2"), "from GPU to GPU inside 2 hosts")
        self.check_last_was_killed(self.run_ranks("die", 4, ON_HOST="2"))

    def test_the_end_of_a_communicator_leaves_captures_elsewhere_alone(self):
        for what in ("destroy_beside_capture", "abort_beside_capture"):
            self.check_all(self.run_ranks(what, 2), "from device to device")

    def test_it_can_be_switched_off(self):
        self.check_all(self.run_ranks("move", 2, NCCL_P2P_DISABLE="1"),
                       "through the host's memory: rank 0: RONDO_P2P_DISABLE=1")

    @unittest.skipUnless(STAND_IN, "a driver has CUDA IPC or has not")
    def test_without_cuda_ipc_descriptors_will_do(self):
        none = {"FAKE_WITHOUT_IPC": "1"}
        self.check_all(self.run_ranks("move", 3, **none), "from device to device")
        self.check_all(self.run_ranks("move", 2, **none, FAKE_WITHOUT_SEGMENTS="1"),
                       "through the host's memory: rank 0: rondo: other processes cannot have the "
                       "memory of rank 1: ")

    def test_windows_are_used_where_each_rank_has_a_device(self):
        for ranks in (2, 3):
            for devices in ("one", "own") if STAND_IN else ("one",):
                self.check_all(self.run_ranks("windows", ranks, DEVICES=devices),
                               "bytes is mapped by all ranks")

    @needs_kernels
    @unittest.skipUnless(STAND_IN, "a machine may have one device")
    def test_windows_that_are_given_back_do_not_stay_mapped(self):
        for ranks in (2, 3):
            self.check_all(self.run_ranks("window_loop", ranks, DEVICES="own"),
                           "bytes is mapped by all ranks")

    def test_a_killed_rank_is_told_of(self):
        host = {"NCCL_P2P_DISABLE": "1"}
        own = {"DEVICES": "own"} if STAND_IN else {}
        for what, way in (("die", {}), ("die", host), ("die_in_window", own)):
            said = self.run_ranks(what, 3, **way)
            self.check_last_was_killed(said)
            self.check_all(said[:2], "through the host's memory" if way is host
                           else "from device to device")

    def test_memory_is_given_back_behind_a_rank_whose_parent_does_not_ask_for_it(self):
        """The dead rank stays a zombie until the others have ended: run_ranks() asks for them in turn."""
        for what, status in (("die", -signal.SIGKILL), ("vanish", 0)):
            said = self.run_ranks(what, 2, FAKE_MPS="1")  # kernels may write into others' memory
            self.assertEqual([each[1] for each in said], [0, status], said)
            self.assertIn("\nall memory was given back", said[0][0])
            self.assertNotIn("stay taken", said[0][0])


def main(kind):
    if sys.argv[1:2] == ["rank"]:
        getattr(kind(*sys.argv[2:5]), sys.argv[5])()
    else:
        unittest.main()


if __name__ == "__main__":
    main(Rank)
