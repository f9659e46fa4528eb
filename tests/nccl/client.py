"""libnccl.so.2 and CUDA's driver through ctypes, as vLLM's and CuPy's clients use NCCL."""

import ctypes
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from running import Running  # noqa: E402

LIBRARY = os.environ.get("LIBNCCL_PATH", "libnccl.so.2")
INT, FLOAT, SUM = 2, 7, 0
BIT_OR = 1  # a rondoBitwise_t
SUCCESS, INVALID_USAGE, REMOTE_ERROR = 0, 5, 6
TILE = 9973  # bytes after which patterns repeat


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


class Library:
    """The functions of the library. call() raises what an ncclResult_t says, unless it is success."""

    def __init__(self, path=LIBRARY):
        self.functions = ctypes.CDLL(path)
        for name in ("ncclGetErrorString", "ncclGetLastError"):
            getattr(self.functions, name).restype = ctypes.c_char_p

    def result(self, name, *arguments):
        return getattr(self.functions, name)(*arguments)

    def last_error(self):
        return self.functions.ncclGetLastError(None).decode()

    def call(self, name, *arguments):
        result = self.result(name, *arguments)
        if result != SUCCESS:
            words = self.functions.ncclGetErrorString(result).decode()
            raise RuntimeError(f"{name}: {words}: {self.last_error()}")

    def unique_id(self):
        made = UniqueId()
        self.call("ncclGetUniqueId", ctypes.byref(made))
        return made

    def join(self, made, ranks, rank):
        comm = ctypes.c_void_p()
        self.call("ncclCommInitRank", ctypes.byref(comm), ranks, made, rank)
        return comm

    def sum(self, comm, values):
        """Returns the result and the sums."""
        buffer = (ctypes.c_float * len(values))(*values)
        result = self.result("ncclAllReduce", buffer, buffer, ctypes.c_size_t(len(values)), FLOAT,
                             SUM, comm, None)
        return result, list(buffer)


def start_ranks(ranks, script, *words, **environment):
    """Starts `SCRIPT rank RANK RANKS ID WORDS`, once for each rank. This process serves their meeting."""
    made = bytes(Library().unique_id()).hex()
    return [Running(sys.executable, script, "rank", rank, ranks, made, *words, **environment)
            for rank in range(ranks)]


def joined(rank, ranks, made):
    """The library and the communicator of a started rank, from its words."""
    library = Library()
    return library, library.join(UniqueId.from_buffer_copy(bytes.fromhex(made)), int(ranks), int(rank))


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


class Memory:
    """A block of the device's memory."""

    def __init__(self, device, content):
        self.device = device
        self.size = len(content)
        self.address = ctypes.c_ulonglong()
        device.call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(self.size))
        self.set(content)

    def set(self, content):
        self.device.call("cuMemcpyHtoD_v2", self.address, content, ctypes.c_size_t(self.size))
        self.device.call("cuStreamSynchronize", None)  # other streams do not wait for this one

    def get(self):
        content = ctypes.create_string_buffer(self.size)
        self.device.call("cuMemcpyDtoH_v2", content, self.address, ctypes.c_size_t(self.size))
        return content.raw

    def pointer(self, begin=0):
        return ctypes.c_void_p(self.address.value + begin)

    def free(self):
        self.device.call("cuMemFree_v2", self.address)


def say(line):
    """One write: print() makes several, between which a thread of the library may log."""
    os.write(1, f"{line}\n".encode())


def pattern(rank, size):
    """Bytes that differ by rank and place."""
    return repeated(tile(rank), size)


def tile(rank):
    return bytes((i * 7 + i // 251 + rank * 41) % 256 for i in range(TILE))


def repeated(piece, size):
    return (piece * (size // len(piece) + 1))[:size]


def patterns_sum(ranks, size):
    """What all ranks' patterns add up to."""
    return repeated(bytes(sum(all_ranks) % 256 for all_ranks in zip(*map(tile, ranks))), size)
