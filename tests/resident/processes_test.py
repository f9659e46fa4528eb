#!/usr/bin/env python3
"""Processes whose calls are kernels that wait for each other: on a device each, and on one
device under MPS. One process is killed.

LIBNCCL_PATH names the library, LIBCUDA_PATH the driver's stand-in. client.start_ranks() starts
this script for each rank.
"""

import ctypes
import os
import pathlib
import signal
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "nccl"))
import client
import device_processes_test as processes

INT = 2  # ncclInt32
SUM = 0  # ncclSum
WAITS = "calls between GPUs are co-resident kernels"


class Rank(processes.Rank):
    def all_reduce(self, memory):
        self.library.call("ncclAllReduce", memory.pointer(), memory.pointer(),
                          ctypes.c_size_t(memory.size // 4), INT, SUM, self.comm, self.stream)

    def add(self):
        """Makes all-reduces of several forms, and says how many kernels waited."""
        for count in [1, 3000, 12000, 500_000]:
            memory = processes.Memory(self.device, struct.pack("i", self.rank + 1) * count)
            for _ in range(3):
                self.all_reduce(memory)
            self.finish()
            wanted = self.ranks * (self.ranks + 1) // 2 * self.ranks ** 2
            self.check("all_reduce", memory.get(), struct.pack("i", wanted) * count)
            memory.free()
        self.library.call("ncclCommDestroy", self.comm)
        if hasattr(self.device.driver, "fake_resident_launches"):  # a real driver does not tell
            print(self.device.driver.fake_resident_launches(), "waited", flush=True)

    def die_waiting(self):
        """The last rank is killed while the others' kernels wait for its own."""
        memory = processes.Memory(self.device, bytes(4))
        self.all_reduce(memory)
        self.finish()
        if self.rank == self.ranks - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        self.tell_failure(lambda: self.all_reduce(memory))


class Waiting(processes.Job):
    script = __file__

    def test_ranks_with_a_device_each_wait_in_kernels(self):
        for ranks in (2, 4):
            said = self.run_ranks("add", ranks, DEVICES="own")
            self.check_all(said, WAITS)
            self.check_all(said, "12 waited")
            self.check_all(self.run_ranks("move", ranks, DEVICES="own"), WAITS)
        self.check_all(self.run_ranks("replay", 2, DEVICES="own"), WAITS)

    def test_ranks_that_share_a_device_wait_under_mps(self):
        """tests/gpu/run takes this one, with a real driver."""
        said = self.run_ranks("add", 3, FAKE_MPS="1")
        self.check_all(said, WAITS)
        if "LIBCUDA_PATH" in os.environ:
            self.check_all(said, "12 waited")

    def test_ranks_that_take_turns_on_a_device_never_wait(self):
        turns = self.run_ranks("add", 3)
        self.check_all(turns, "ranks 0 and 1 take turns on one device, as MPS does not run there")
        self.check_all(turns, "0 waited")

    def test_a_killed_rank_is_told_of(self):
        said = self.run_ranks("die_waiting", 3, DEVICES="own")
        self.assertEqual(said[2][1], -signal.SIGKILL)
        for text, status in said[:2]:
            self.assertEqual(status, 0, text)
            self.assertIn(f"\n{client.REMOTE_ERROR} ", "\n" + text)
            self.assertIn("rank 2", text)

    def test_rank_0_decides_about_the_executor(self):
        self.check_all(self.run_ranks("add", 2, DEVICES="own", RONDO_DEVICE_EXECUTOR="finite"),
                       "0 waited")


if __name__ == "__main__":
    processes.main(Rank)
