#!/usr/bin/env python3
"""Processes whose windows are memory of cuMemCreate: segments like PyTorch's expandable ones, and memory
of ncclMemAlloc.

LIBNCCL_PATH and LIBCUDA_PATH name the libraries; without the latter the machine's own driver is
taken. client.start_ranks() starts this script for each rank.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import unittest

import client
import device_processes_test as processes

# "alone": other processes cannot have the segments; "allocated": memory of ncclMemAlloc.
KIND = os.environ.get("SEGMENTS", "shared")
STAND_IN = "LIBCUDA_PATH" in os.environ  # it can be asked what it holds
# The driver's functions that a window takes, in each process.
CALLS = ["cuMemExportToShareableHandle", "cuMemAddressReserve", "cuMemImportFromShareableHandle",
         "cuMemMap", "cuMemSetAccess"]
# By the number of descriptors that are left to rank 0: why it cannot share four segments. Six leave none
# to talk to its peer with, and either side may find that first.
ROOM = {2: "cuMemExportToShareableHandle failed", 4: "no Unix socket to share memory",
        5: "no file descriptor to share memory", 6: "rank 0: rondo: no "}


class Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [("type", ctypes.c_int), ("handle_types", ctypes.c_int),
                ("location_type", ctypes.c_int), ("device", ctypes.c_int),
                ("windows", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8)]


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = [("location_type", ctypes.c_int), ("device", ctypes.c_int), ("flags", ctypes.c_int)]


def properties(device):
    """The properties of segments of the current device."""
    number = ctypes.c_int()
    device.call("cuCtxGetDevice", ctypes.byref(number))
    return Properties(1, 0 if KIND == "alone" else 1, 1, number, None)


def granularity(device):
    each = ctypes.c_size_t()
    device.call("cuMemGetAllocationGranularity", ctypes.byref(each),
                ctypes.byref(properties(device)), 0)
    return each


class Segments(processes.Memory):
    """As many segments as hold the content, mapped into a larger range of reserved addresses."""

    def __init__(self, device, content):
        self.device = device
        self.size = len(content)
        made = properties(device)
        each = granularity(device)
        self.each = each.value
        mapped = -(-self.size // each.value) * each.value
        self.mapped = ctypes.c_size_t(mapped)
        self.reserved = ctypes.c_size_t(mapped + 3 * each.value)
        self.address = ctypes.c_ulonglong()
        device.call("cuMemAddressReserve", ctypes.byref(self.address), self.reserved,
                    ctypes.c_size_t(0), ctypes.c_ulonglong(0), ctypes.c_ulonglong(0))
        for begin in range(0, mapped, each.value):
            claim = ctypes.c_ulonglong()
            device.call("cuMemCreate", ctypes.byref(claim), each, ctypes.byref(made),
                        ctypes.c_ulonglong(0))
            device.call("cuMemMap", ctypes.c_ulonglong(self.address.value + begin), each,
                        ctypes.c_size_t(0), claim, ctypes.c_ulonglong(0))
            device.call("cuMemRelease", claim)
        access = Access(1, made.device, 3)
        device.call("cuMemSetAccess", self.address, self.mapped, ctypes.byref(access),
                    ctypes.c_size_t(1))
        self.set(content)

    @classmethod
    def whole(cls, device, segments):
        """So many segments, full of zeros."""
        return cls(device, bytes(segments * granularity(device).value))

    def free(self):
        self.device.call("cuMemUnmap", self.address, self.mapped)
        self.device.call("cuMemAddressFree", self.address, self.reserved)


class Allocated(processes.Memory):
    """Memory of ncclMemAlloc."""

    def __init__(self, device, content):
        self.device = device
        self.size = len(content)
        self.library = client.Library()
        pointer = ctypes.c_void_p()
        self.library.call("ncclMemAlloc", ctypes.byref(pointer), ctypes.c_size_t(self.size))
        self.address = ctypes.c_ulonglong(pointer.value)
        self.set(content)

    def free(self):
        self.library.call("ncclMemFree", self.pointer())


@contextlib.contextmanager
def room(descriptors):
    """Leaves room for so many more descriptors in this process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + descriptors, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Rank(processes.Rank):
    memory = Allocated if KIND == "allocated" else Segments

    def mappings(self):
        """How many mappings there are of own segments and others'. None: the driver does not count."""
        count = getattr(self.device.driver, "fake_reservations", None)
        return count and count()

    def shared(self):
        """How many descriptors this process gave, and took, so far."""
        return tuple(self.device.driver.fake_calls(name) for name in
                     (b"cuMemExportToShareableHandle", b"cuMemImportFromShareableHandle"))

    def expect(self, what, got, wanted):
        if got != wanted:
            sys.exit(f"rank {self.rank}: {what}: {got}, not {wanted}")

    def expect_left(self, mappings):
        if self.mappings() is None:
            return
        self.expect("mappings", self.mappings(), mappings)
        self.expect("open descriptors", self.device.driver.fake_descriptors(), 0)

    def end(self):
        self.library.call("ncclCommDestroy", self.comm)
        self.wait_until_all_is_free()
        self.expect_left(0)

    def freed_while_mapped(self):
        """Rank 0 frees memory that the others still map; all go on with other memory."""
        before = self.mappings()
        old = self.memory(self.device, processes.pattern(self.rank, 5000))
        window = self.window(old, 0, old.size)
        self.sum(old)
        if self.rank == 0:
            self.deregister(window)
            old.free()
        new = self.memory(self.device, processes.pattern(self.rank, 5000))
        again = self.window(new, 0, new.size)  # waits for rank 0
        self.sum(new)
        self.expect_left(before + self.ranks * (1 if self.rank == 0 else 2))
        if self.rank != 0:
            self.deregister(window)
            old.free()
        self.deregister(again)
        new.free()
        self.expect_left(before)
        self.end()

    def many(self):
        """A window over some of a memory's segments exports those alone, and takes as many of each peer."""
        before = self.mappings()
        memory = Segments.whole(self.device, 12)
        each = memory.each
        for first, last in [(0, 1), (5, 7), (3, 4), (11, 12), (0, 12)]:
            begin, size = first * each + 1000, (last - first) * each - 2000
            gave, took = self.shared()
            window = self.window(memory, begin, size)
            peers = self.ranks - 1
            self.expect("shared", self.shared(),
                        (gave + last - first, took + (last - first) * peers))
            self.expect_left(before + 1 + peers)
            memory.set(processes.pattern(self.rank, memory.size))
            self.all_reduce(memory, size, begin)
            self.finish()
            wanted = processes.patterns_sum(range(self.ranks), memory.size)
            self.check("all_reduce", memory.get()[begin:begin + size], wanted[begin:begin + size])
            self.deregister(window)
            self.expect_left(before + 1)
        memory.free()
        self.end()

    def expect_sum_without(self, window, memory, before):
        """Memory that could not be mapped is no window, nothing is left of it, and sums are right."""
        self.expect_left(before)
        memory.set(processes.pattern(self.rank, memory.size))
        self.sum(memory)
        self.deregister(window)

    def go_on_without(self, memory):
        memory.free()
        self.sum_in_window()
        self.end()

    def refused(self):
        """Each call that a window takes fails once, on the last rank."""
        memory = self.memory(self.device, bytes(5000))
        before = self.mappings()
        for name in CALLS:
            if self.rank == self.ranks - 1:
                self.device.driver.fake_fail_next(name.encode(), 2)
            window = self.window(memory, 0, memory.size)
            self.expect_sum_without(window, memory, before)
        self.go_on_without(memory)

    def few_descriptors(self):
        """Rank 0 has room for as many descriptors as the table says."""
        memory = Segments.whole(self.device, 4)
        before = self.mappings()
        for descriptors in ROOM:
            with room(descriptors) if self.rank == 0 else contextlib.nullcontext():
                window = self.window(memory, 0, memory.size)
            self.expect_sum_without(window, memory, before)
        self.go_on_without(memory)

    def die_in_window(self):
        super().die_in_window()
        self.expect_left(0)

    def die_mapping(self):
        """The last rank is killed while all map each other's segments."""
        memory = self.memory(self.device, processes.pattern(self.rank, 5000))
        if self.rank == self.ranks - 1:
            if not hasattr(self.device.driver, "fake_die_in"):
                os.kill(os.getpid(), signal.SIGKILL)
            self.device.driver.fake_die_in(b"cuMemMap")
        self.tell_failure(lambda: self.window(memory, 0, memory.size))
        memory.free()
        self.wait_until_all_is_free()
        self.expect_left(0)


class Job(processes.Job):
    script = __file__

    def check_windows(self, said):
        """No rank says that calls do not use a window."""
        self.check_all(said, "bytes is mapped by all ranks")
        for text, _ in said:
            self.assertNotIn("do not use", text)

    def check_unused(self, said, reasons):
        """Every rank says why calls use none of these windows, in this order, and names no other one."""
        for text, status in said:
            self.assertEqual(status, 0, text)
            lines = [line for line in text.splitlines() if "do not use" in line]
            self.assertEqual(len(lines), len(reasons), text)
            for line, reason in zip(lines, reasons):
                self.assertIn("calls do not use this window: rank", line)
                self.assertIn(reason, line)


class Processes(Job):
    def test_calls_use_windows_on_segments(self):
        for ranks in (2, 3):
            self.check_windows(self.run_ranks("windows", ranks))
        if STAND_IN:
            self.check_windows(self.run_ranks("windows", 2, DEVICES="own"))

    def test_calls_use_windows_on_memory_of_the_librarys_own(self):
        for ranks in (2, 3):
            self.check_windows(self.run_ranks("windows", ranks, SEGMENTS="allocated"))
        for other in ({"NCCL_CUMEM_ENABLE": "0"}, {"FAKE_WITHOUT_SEGMENTS": "1"},
                      {"FAKE_WITHOUT_DESCRIPTORS": "1"}) if STAND_IN else ():
            said = self.run_ranks("windows", 2, SEGMENTS="allocated", **other)
            self.check_windows(said)
            self.check_all(said, "ncclMemAlloc uses cuMemAlloc: ")

    @processes.needs_kernels
    @unittest.skipUnless(STAND_IN, "a machine may have one device")
    def test_segments_that_are_given_back_do_not_stay_mapped(self):
        self.check_windows(self.run_ranks("window_loop", 3, DEVICES="own"))

    def test_segments_that_cannot_be_shared_are_not_used(self):
        reason = "rank 0: other processes cannot map it: rondo: cuMemExportToShareableHandle failed"
        drivers = [{}, {"FAKE_WITHOUT_DESCRIPTORS": "1"}] if STAND_IN else [{}]
        for driver in drivers:
            said = self.run_ranks("windows", 2, SEGMENTS="alone", **driver)
            self.check_unused(said, [reason] * 2 * len(processes.SIZES))

    def test_a_killed_rank_is_told_of(self):
        own = {"DEVICES": "own"} if STAND_IN else {}
        for what in ("die_in_window", "die_mapping"):
            self.check_last_was_killed(self.run_ranks(what, 3, **own))


@unittest.skipUnless(STAND_IN, "a real driver does not tell what is left")
class WhatIsLeft(Job):
    """Neither a mapping nor a descriptor is left, as the driver's stand-in counts them."""

    def test_memory_may_be_freed_while_others_map_it(self):
        for ranks in (2, 3):
            for devices in ("own", "one"):
                for kind in ("shared", "allocated"):
                    self.check_windows(self.run_ranks("freed_while_mapped", ranks,
                                                      DEVICES=devices, SEGMENTS=kind))

    def test_a_window_takes_the_segments_under_it_alone(self):
        for ranks in (2, 3):
            self.check_windows(self.run_ranks("many", ranks))

    def test_what_the_driver_refuses_one_rank_is_not_used_on_any(self):
        for ranks in (2, 3):
            said = self.run_ranks("refused", ranks)
            self.check_unused(said, [f"{name} failed with CUDA error 2" for name in CALLS])
            self.check_all(said, "bytes is mapped by all ranks")

    @processes.needs_kernels  # ROOM counts what the library has open with them
    def test_windows_of_a_rank_without_descriptors_are_not_used(self):
        said = self.run_ranks("few_descriptors", 2)
        self.check_unused(said, list(ROOM.values()))
        self.check_all(said, "bytes is mapped by all ranks")


if __name__ == "__main__":
    processes.main(Rank)
