#!/usr/bin/env python3
"""Processes that all-reduce buffers of one GPU, by libnccl and CUDA's driver alone.

LIBNCCL_PATH and LIBCUDA_PATH name the libraries; without the latter the machine's own driver is
taken. Run as `device_client_test.py rank N OF IDFILE` this is one rank.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import client

RANKS = 3
SIZES = [1, 1000, 3_000_000]  # floats: less than a slot, and many slices
PATIENCE = 120  # seconds


class Device:
    """One of the driver's devices, current on this thread."""

    def __init__(self, number=0):
        self.driver = ctypes.CDLL(os.environ.get("LIBCUDA_PATH", "libcuda.so.1"))
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: CUDA error {status}")

    def stream(self):
        made = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(made), 1)
        return made

    def upload(self, values):
        address = ctypes.c_ulonglong()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(ctypes.sizeof(values)))
        self.call("cuMemcpyHtoD_v2", address, values, ctypes.c_size_t(ctypes.sizeof(values)))
        self.call("cuStreamSynchronize", None)  # other streams do not wait for the null stream's copy
        return address

    def download(self, address, count):
        values = (ctypes.c_float * count)()
        self.call("cuMemcpyDtoH_v2", values, address, ctypes.c_size_t(ctypes.sizeof(values)))
        self.call("cuMemFree_v2", address)
        return values


def run_rank(rank, ranks, path):
    device = Device()
    library = client.Library()
    made = client.UniqueId.from_buffer_copy(pathlib.Path(path).read_bytes())
    comm = library.join(made, ranks, rank)
    stream = device.stream()
    for count in SIZES:
        address = device.upload((ctypes.c_float * count)(*([rank + 1.0] * count)))
        pointer = ctypes.c_void_p(address.value)
        library.call("ncclAllReduce", pointer, pointer, ctypes.c_size_t(count), client.FLOAT,
                     client.SUM, comm, stream)
        device.call("cuStreamSynchronize", stream)
        values = device.download(address, count)
        print(count, min(values), max(values), flush=True)
    library.call("ncclCommDestroy", comm)


class Processes(unittest.TestCase):
    def test_processes_share_a_device(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "id"
            server = client.Library()
            path.write_bytes(bytes(server.unique_id()))
            ranks = [subprocess.Popen([sys.executable, __file__, "rank", str(rank), str(RANKS),
                                       str(path)], stdout=subprocess.PIPE, text=True)
                     for rank in range(RANKS)]
            said = [rank.communicate(timeout=PATIENCE)[0] for rank in ranks]
        total = float(sum(range(1, RANKS + 1)))
        wanted = [f"{count} {total} {total}" for count in SIZES]
        for rank, lines in zip(ranks, said):
            self.assertEqual(rank.returncode, 0)
            self.assertEqual(lines.splitlines(), wanted)


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        run_rank(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        unittest.main()
