"""libnccl.so.2 through ctypes, as vLLM's and CuPy's clients use NCCL."""

import ctypes
import os

LIBRARY = os.environ.get("LIBNCCL_PATH", "libnccl.so.2")
INT, FLOAT, SUM = 2, 7, 0
BIT_OR = 1  # a rondoBitwise_t
SUCCESS, INVALID_USAGE, REMOTE_ERROR = 0, 5, 6


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
