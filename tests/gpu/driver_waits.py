"""What a stream that waits holds up in CUDA's driver. core/stream and core/direct_device build on it.

    driver_waits.py calls     which functions wait for it, and whether other threads can go on meanwhile
    driver_waits.py queues    which work in other streams waits behind it, as streams share queues

A stream waits for a value in the host's memory (cuStreamWaitValue32), as a rank's does for another
rank. Needs a GPU of its own; nothing is checked.
"""

import ctypes
import json
import os
import subprocess
import sys
import threading
import time

Address, Pointer, Size = ctypes.c_ulonglong, ctypes.c_void_p, ctypes.c_size_t
NON_BLOCKING, MAPPED, EQUAL = 1, 2, 1  # of cuStreamCreate, cuMemHostAlloc, cuStreamWaitValue32
MANY = 8 << 20                         # bytes of each block
STREAMS = 48
LONG, SHORT = 0.4, 0.003               # seconds until something counts as waiting


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


class Segment(ctypes.Structure):
    """CUmemAllocationProp."""
    _fields_ = [("kind", ctypes.c_int), ("handles", ctypes.c_int), ("place", ctypes.c_int * 2),
                ("windows", Pointer), ("flags", ctypes.c_ubyte * 8)]


class Driver:
    """The driver's functions, on device 0. All raise RuntimeError where it refuses."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.context = Pointer()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.enter()
        self.one, self.other = self.memory(), self.memory()
        self.host, self.host_on_device = self.pinned()
        self.flag, self.flag_on_device = self.pinned()

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: CUDA error {status}")

    def enter(self):
        """Makes the context this thread's."""
        self.call("cuCtxSetCurrent", self.context)

    def made(self, name, kind, *arguments):
        made = kind()
        self.call(name, ctypes.byref(made), *arguments)
        return made

    def stream(self):
        return self.made("cuStreamCreate", Pointer, NON_BLOCKING)

    def memory(self, size=MANY):
        return self.made("cuMemAlloc_v2", Address, Size(size))

    def pinned(self, size=MANY):
        host = self.made("cuMemHostAlloc", Pointer, Size(size), MAPPED)
        ctypes.memset(host, 0, size)
        return host, self.made("cuMemHostGetDevicePointer_v2", Address, host, 0)

    def segment(self):
        """An address range with memory of cuMemCreate, and that memory."""
        kind = Segment(1, 1, (ctypes.c_int * 2)(1, 0))
        memory = self.made("cuMemCreate", Address, Size(MANY), ctypes.byref(kind), Address(0))
        place = self.made("cuMemAddressReserve", Address, Size(MANY), Size(0), Address(0), Address(0))
        self.call("cuMemMap", place, Size(MANY), Size(0), memory, Address(0))
        return place, memory

    def finish(self, stream):
        self.call("cuStreamSynchronize", stream)

    def wait(self, stream):
        ctypes.memset(self.flag, 0, 4)
        self.call("cuStreamWaitValue32_v2", stream, self.flag_on_device, 1, EQUAL)

    def release(self):
        ctypes.memset(self.flag, 1, 1)

    def put(self, what, size, stream):
        if what == "to the host":
            self.call("cuMemcpyDtoHAsync_v2", self.host, self.one, Size(size), stream)
        elif what == "to the device":
            self.call("cuMemcpyHtoDAsync_v2", self.one, self.host, Size(size), stream)
        elif what == "on the device":
            self.call("cuMemcpyDtoDAsync_v2", self.other, self.one, Size(size), stream)
        elif what == "a kernel":  # of the driver's own
            self.call("cuMemsetD8Async", self.one, 1, Size(size), stream)
        elif what == "a flag":
            self.call("cuStreamWriteValue32_v2", stream, self.host_on_device, 1, 0)

    def is_waiting(self, stream):
        end = time.monotonic() + SHORT
        while self.library.cuStreamQuery(stream) != 0:
            if time.monotonic() > end:
                return True
        return False


class Started:
    """Work on a thread, after some time."""

    def __init__(self, driver, work):
        self.driver, self.work, self.failure = driver, work, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        self.thread.join(LONG)
        self.waits = self.thread.is_alive()

    def run(self):
        try:
            self.driver.enter()
            self.work()
        except RuntimeError as failure:
            self.failure = failure

    def end(self):
        self.thread.join()
        if self.failure:
            raise self.failure


def freed(driver):
    """[(function, a call of it)]; what they give back is taken here."""
    free = driver.stream()
    shown = subprocess.Popen([sys.executable, __file__, "show"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    handle = Handle((ctypes.c_ubyte * 64)(*bytes.fromhex(shown.stdout.readline().decode())))
    place, memory = driver.segment()
    locked = ctypes.create_string_buffer(MANY)
    driver.call("cuMemHostRegister_v2", locked, Size(MANY), 2)
    taken = [("cuMemFree_v2", [driver.memory()]), ("cuMemFreeAsync", [driver.memory(), free]),
             ("cuMemUnmap", [place, Size(MANY)]), ("cuMemRelease", [memory]),
             ("cuMemAddressFree", [place, Size(MANY)]),
             ("cuIpcCloseMemHandle", [driver.made("cuIpcOpenMemHandle_v2", Address, handle, 1)]),
             ("cuMemHostUnregister", [locked]), ("cuMemFreeHost", [driver.pinned()[0]]),
             ("cuStreamDestroy_v2", [driver.stream()]), ("cuCtxSynchronize", [])]
    calls = [(name, lambda name=name, given=given: driver.call(name, *given)) for name, given in taken]
    return [("cuMemAlloc_v2", driver.memory), ("cuMemHostAlloc", driver.pinned),
            ("cuMemCreate and cuMemMap", driver.segment), ("cuStreamCreate", driver.stream), *calls]


def calls(driver):
    waiting, free = driver.stream(), driver.stream()
    driver.put("on the device", 4, free)
    driver.finish(free)
    for name, call in freed(driver):
        driver.wait(waiting)
        first = Started(driver, call)
        other = Started(driver, lambda: driver.put("on the device", 4, free))
        driver.release()
        first.end()
        other.end()
        driver.finish(waiting)
        print(json.dumps({"kind": "driver_call", "call": name, "waits": first.waits,
                          "others_wait": other.waits}), flush=True)


def queues(driver):
    for size in (4, 1 << 20):
        for what in ("to the host", "to the device", "on the device", "a kernel", "a flag"):
            streams = [driver.stream() for _ in range(STREAMS)]
            driver.wait(streams[0])
            driver.put("to the device", size, streams[0])
            for stream in streams[1:]:
                driver.put(what, size, stream)
            held = sum(driver.is_waiting(stream) for stream in streams[1:])
            driver.release()
            for stream in streams:
                driver.finish(stream)
                driver.call("cuStreamDestroy_v2", stream)
            line = {"kind": "driver_queue", "what": what, "bytes": size, "held": held, "of": STREAMS - 1,
                    "connections": os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS", "default")}
            print(json.dumps(line), flush=True)


def show(driver):
    handle = Handle()
    driver.call("cuIpcGetMemHandle", ctypes.byref(handle), driver.memory())
    print(bytes(handle.bytes).hex(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    {"calls": calls, "queues": queues, "show": show}[sys.argv[1]](Driver())
