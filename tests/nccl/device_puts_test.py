#!/usr/bin/env python3
"""Processes that put into each other's windows in GPU memory, signal, and wait for signals.

LIBNCCL_PATH and LIBCUDA_PATH name the libraries; without the latter the machine's own driver is
taken. client.start_ranks() starts this script for each rank.
"""

import ctypes
import os
import signal
import unittest

import client
import device_processes_test as processes
import device_segments_test as segments
from client import Memory

WHOLE = os.environ.get("SEGMENTS") is None  # windows are memory of cuMemAlloc


class Rank(processes.Rank):
    memory = Memory if WHOLE else segments.Rank.memory

    def put(self, memory, window, peer):
        self.library.call("ncclPutSignal", memory.pointer(), ctypes.c_size_t(memory.size), processes.BYTE,
                          peer, window, ctypes.c_size_t(0), 0, 0, 0, self.comm, self.stream)

    def wait_signal(self, peer, index=0):
        wanted = (ctypes.c_int * 4)(1, peer, index, 0)
        self.library.call("ncclWaitSignal", 1, wanted, self.comm, self.stream)

    def ring(self):
        """A rank puts again when its peer has read."""
        after, before = (self.rank + 1) % self.ranks, (self.rank - 1) % self.ranks
        for size in processes.SIZES:
            memory, sent = self.memory(self.device, bytes(size)), Memory(self.device, bytes(size))
            window = self.window(memory, 0, size)
            for turn in range(20):
                sent.set(processes.pattern(self.rank + turn, size))
                self.put(sent, window, after)
                self.wait_signal(before)
                self.finish()
                self.check("what was put", memory.get(), processes.pattern(before + turn, size))
                self.library.call("ncclSignal", before, 1, 0, 0, self.comm, self.stream)
                self.wait_signal(after, 1)
            self.finish()
            self.deregister(window)
            memory.free()
            sent.free()
        self.library.call("ncclCommDestroy", self.comm)

    def die_before_signal(self):
        """The last rank is killed while others wait for its signal."""
        memory = self.memory(self.device, processes.pattern(self.rank, processes.HALF))
        window = self.window(memory, 0, memory.size)
        self.put(memory, window, (self.rank + 1) % self.ranks)
        self.wait_signal((self.rank - 1) % self.ranks)
        self.finish()
        if self.rank == self.ranks - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        self.tell_failure(lambda: self.wait_signal(self.ranks - 1))
        memory.free()
        self.wait_until_all_is_free()

    def beside_no_driver(self):
        """Rank 0 alone has a driver: a window is made at once, and a signal says why there is none."""
        window = ctypes.c_void_p()
        self.library.call("ncclCommWindowRegister", self.comm, ctypes.create_string_buffer(100),
                          ctypes.c_size_t(100), ctypes.byref(window), processes.SYMMETRIC)
        result = self.library.result("ncclSignal", 0, 0, 0, 0, self.comm, self.stream)
        client.say(f"{result} {self.library.last_error()}")
        self.check("a sum on the host", self.library.sum(self.comm, [1.0]), (client.SUCCESS, [2.0]))
        self.deregister(window)
        self.library.call("ncclCommDestroy", self.comm)


class Processes(processes.Job):
    script = __file__

    def test_bytes_arrive_before_their_signal(self):
        for more in ({}, {"SEGMENTS": "shared"}, {"SEGMENTS": "allocated"}):
            self.check_all(self.run_ranks("ring", 2, **more), "bytes is mapped by all ranks")
        self.check_all(self.run_ranks("ring", 4), "bytes is mapped by all ranks")
        if segments.STAND_IN:
            self.check_all(self.run_ranks("ring", 2, DEVICES="own"), "bytes is mapped by all ranks")

    def test_a_killed_rank_is_told_of(self):
        self.check_last_was_killed(self.run_ranks("die_before_signal", 3))

    def test_all_ranks_know_that_some_have_no_driver(self):
        said = self.run_ranks("beside_no_driver", 2, DEVICES="first", RONDO_BOOTSTRAP_TIMEOUT="20")
        self.check_all(said, "4 ncclSignal: rondo: rank")
        self.check_all(said, "rank 0 has a GPU driver, and rank 1 has none")


if __name__ == "__main__":
    processes.main(Rank)
