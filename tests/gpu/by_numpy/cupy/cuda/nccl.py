"""cupy.cuda.nccl by the library that is loaded, with CuPy's own names and orders of arguments."""

import ctypes

NCCL_SUM, NCCL_MAX = 0, 2
NCCL_UINT8, NCCL_INT64, NCCL_FLOAT16, NCCL_FLOAT32, NCCL_FLOAT64 = 1, 4, 6, 7, 8
BYTES = 128


class Identifier(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * BYTES)]


def call(name, *arguments):
    library = ctypes.CDLL("libnccl.so.2")
    library.ncclGetLastError.restype = ctypes.c_char_p
    if getattr(library, name)(*arguments) != 0:
        raise RuntimeError(f"{name}: {library.ncclGetLastError(None).decode()}")


def number_of(name, *arguments):
    value = ctypes.c_int()
    call(name, *arguments, ctypes.byref(value))
    return value.value


def get_version():
    return number_of("ncclGetVersion")


get_build_version = get_version


def get_unique_id():
    made = Identifier()
    call("ncclGetUniqueId", ctypes.byref(made))
    return tuple(made.internal)


def groupStart():
    call("ncclGroupStart")


def groupEnd():
    call("ncclGroupEnd")


class NcclCommunicator:
    """Addresses, streams and counts are 64 bits wide, everything else is an int."""

    def __init__(self, ndev, commId, rank):
        self.comm = ctypes.c_void_p()
        made = Identifier((ctypes.c_byte * BYTES)(*commId))
        call("ncclCommInitRank", ctypes.byref(self.comm), ndev, made, rank)

    @classmethod
    def initAll(cls, devices):
        comms = (ctypes.c_void_p * len(devices))()
        call("ncclCommInitAll", comms, len(devices), (ctypes.c_int * len(devices))(*devices))
        made = [cls.__new__(cls) for _ in devices]
        for each, comm in zip(made, comms):
            each.comm = ctypes.c_void_p(comm)
        return made

    def end(self, name):
        call(name, self.comm)

    def destroy(self):
        self.end("ncclCommDestroy")

    def abort(self):
        self.end("ncclCommAbort")

    def check_async_error(self):
        if number_of("ncclCommGetAsyncError", self.comm) != 0:
            raise RuntimeError("an error of the communicator")

    def rank_id(self):
        return number_of("ncclCommUserRank", self.comm)

    def size(self):
        return number_of("ncclCommCount", self.comm)

    def device_id(self):
        return 0

    def put(self, name, buffers, count, numbers, stream):
        call(name, *map(ctypes.c_void_p, buffers), ctypes.c_size_t(count), *numbers, self.comm,
             ctypes.c_void_p(stream))

    def allReduce(self, sendbuf, recvbuf, count, datatype, op, stream):
        self.put("ncclAllReduce", (sendbuf, recvbuf), count, (datatype, op), stream)

    def reduce(self, sendbuf, recvbuf, count, datatype, op, root, stream):
        self.put("ncclReduce", (sendbuf, recvbuf), count, (datatype, op, root), stream)

    def broadcast(self, sendbuff, recvbuff, count, datatype, root, stream):
        self.put("ncclBroadcast", (sendbuff, recvbuff), count, (datatype, root), stream)

    def bcast(self, buff, count, datatype, root, stream):
        self.put("ncclBcast", (buff,), count, (datatype, root), stream)

    def reduceScatter(self, sendbuf, recvbuf, recvcount, datatype, op, stream):
        self.put("ncclReduceScatter", (sendbuf, recvbuf), recvcount, (datatype, op), stream)

    def allGather(self, sendbuf, recvbuf, count, datatype, stream):
        self.put("ncclAllGather", (sendbuf, recvbuf), count, (datatype,), stream)

    def send(self, sendbuf, count, datatype, peer, stream):
        self.put("ncclSend", (sendbuf,), count, (datatype, peer), stream)

    def recv(self, recvbuf, count, datatype, peer, stream):
        self.put("ncclRecv", (recvbuf,), count, (datatype, peer), stream)
