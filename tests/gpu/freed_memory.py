#!/usr/bin/env python3
"""Can a process still read memory that it maps from another process, after that one freed it or died?

This uses CUDA's driver alone, in the two ways in which libnccl maps windows of other processes:

- A segment of cuMemCreate. By the driver's manual it is freed only when nobody maps it any more, so
  its contents must be unchanged.
- Memory of cuMemAlloc that another process has opened by CUDA IPC. The manual leaves undefined what
  happens when it is freed. The script reports what happens, and no result is wrong.

LIBCUDA_PATH: as for tests/nccl/device_processes_test.py.
"""

import ctypes
import json
import os
import pathlib
import signal
import socket
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "nccl"))
import device_processes_test as processes  # noqa: E402
import device_segments_test as segments  # noqa: E402

CONTENT, OTHER = bytes(range(256)) * 8192, bytes(2 << 20)  # a segment's size
BLOCKS = 64  # filled with OTHER, where freed memory may be used again
AS_IT_WAS, NOT_SHARED = "as it was", "not shared"
DESCRIPTOR = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


class Name(ctypes.Structure):
    """CUipcMemHandle."""

    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


class Named(processes.Memory):
    """Memory of cuMemAlloc, shared by CUDA IPC."""

    function = "cuMemAlloc"

    def share(self, connection):
        name = Name()
        self.device.call("cuIpcGetMemHandle", ctypes.byref(name), self.address)
        connection.sendall(bytes(name))

    @classmethod
    def opened(cls, device, connection):
        made = cls.__new__(cls)
        made.device, made.size, made.address = device, len(CONTENT), ctypes.c_ulonglong()
        said = connection.recv(ctypes.sizeof(Name))
        if not said:
            return None
        device.call("cuIpcOpenMemHandle_v2", ctypes.byref(made.address), Name.from_buffer_copy(said), 1)
        return made

    def close(self):
        self.device.call("cuIpcCloseMemHandle", self.address)


class Described(segments.Segments):
    """Memory of cuMemCreate, shared by a file descriptor."""

    function = "cuMemCreate"

    def share(self, connection):
        claim, file = ctypes.c_ulonglong(), ctypes.c_int()
        self.device.call("cuMemRetainAllocationHandle", ctypes.byref(claim), self.pointer())
        self.device.call("cuMemExportToShareableHandle", ctypes.byref(file), claim, DESCRIPTOR,
                         ctypes.c_ulonglong(0))
        self.device.call("cuMemRelease", claim)
        socket.send_fds(connection, [b"it"], [file.value])
        os.close(file.value)

    @classmethod
    def opened(cls, device, connection):
        made = cls.__new__(cls)
        made.device, made.size, made.address = device, len(CONTENT), ctypes.c_ulonglong()
        files = socket.recv_fds(connection, 2, 1)[1]
        if not files:
            return None
        claim = ctypes.c_ulonglong()
        device.call("cuMemImportFromShareableHandle", ctypes.byref(claim), ctypes.c_void_p(files[0]),
                    DESCRIPTOR)
        os.close(files[0])
        each = segments.granularity(device).value
        made.mapped = made.reserved = ctypes.c_size_t(-(-made.size // each) * each)
        device.call("cuMemAddressReserve", ctypes.byref(made.address), made.reserved,
                    ctypes.c_size_t(0), ctypes.c_ulonglong(0), ctypes.c_ulonglong(0))
        device.call("cuMemMap", made.address, made.mapped, ctypes.c_size_t(0), claim,
                    ctypes.c_ulonglong(0))
        device.call("cuMemRelease", claim)
        access = segments.Access(1, segments.properties(device).device, 3)
        device.call("cuMemSetAccess", made.address, made.mapped, ctypes.byref(access),
                    ctypes.c_size_t(1))
        return made

    def close(self):
        self.free()


KINDS = (Named, Described)


def use_again(kind, device):
    """Takes free memory and fills it with other content."""
    return [kind(device, OTHER) for _ in range(BLOCKS)]


def own(kind, killed, connection):
    """One process: keeps the memory until another one maps it, then frees it or is killed."""
    device = processes.Device()
    memory = kind(device, CONTENT)
    memory.share(connection)
    if not connection.recv(1):
        return
    if killed:
        os.kill(os.getpid(), signal.SIGKILL)
    memory.free()
    kept = use_again(kind, device)
    connection.sendall(b"x")
    connection.recv(1)  # until the other one has ended
    for each in kept:
        each.free()


def found_by_reader(kind, killed, owner, connection):
    """The other process: maps the memory, and returns what it finds there in the end."""
    device = processes.Device()
    memory = kind.opened(device, connection)
    if memory is None:
        return NOT_SHARED
    if memory.get() != CONTENT:
        return "wrong from the beginning"
    connection.sendall(b"x")
    connection.recv(1)  # or the owner's end
    if killed:
        os.waitpid(owner, 0)  # now the driver has nothing more of it
    kept = use_again(kind, device)
    found = AS_IT_WAS if memory.get() == CONTENT else "changed"
    memory.close()
    for each in kept:
        each.free()
    return found


def in_child(body):
    """Runs `body` in a process of its own, which meets the driver by itself. Returns its number."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            body()
            status = 0
        except Exception:  # the child would otherwise go on as the first process
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(status)
    return child


def read(kind, killed, result):
    """Runs a pair of processes, of which this one is the reader."""
    mine, theirs = socket.socketpair()

    def owning():
        mine.close()
        own(kind, killed, theirs)

    owner = in_child(owning)
    theirs.close()
    try:
        found = found_by_reader(kind, killed, owner, mine)
    except RuntimeError as error:  # an error of the driver's
        found = str(error)
    os.write(result, found.encode())


def line_of(kind, killed):
    result, written = os.pipe()
    reader = in_child(lambda: read(kind, killed, written))
    os.close(written)
    with os.fdopen(result) as said:
        status = os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1])
        found = said.read() or f"the reader ended with status {status}"
    return {"kind": "freed_memory", "memory": kind.function,
            "owner": "is killed" if killed else "frees it", "found": found}


def is_wrong(line):
    return line["memory"] == Described.function and line["found"] not in (AS_IT_WAS, NOT_SHARED)


def main():
    lines = []
    for kind in KINDS:
        for killed in (False, True):
            lines.append(line_of(kind, killed))
            print(json.dumps(lines[-1]), flush=True)
    return 1 if any(map(is_wrong, lines)) else 0


if __name__ == "__main__":
    sys.exit(main())
