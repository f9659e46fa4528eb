"""Runs an unmodified program with rondo's libnccl.so.2 instead of NVIDIA's.

    python -m rondo.activate train.py --epochs 3
    python -m rondo.activate -m torch.distributed.run --nproc-per-node 2 train.py
    torchrun --nproc-per-node 2 --no-python python -m rondo.activate --share-gpu train.py
    python -m rondo.activate --path

FILE.py, -m MODULE and -c TEXT are run by this Python; any other program is started as it is.

  --share-gpu   Let all ranks use the first GPU. It sets LOCAL_RANK to 0, so it comes after torchrun,
                as in the third line.
  --path        Only print where the library is.

The library is preloaded (LD_PRELOAD) in this process and in all processes that it starts. There it
comes before the folder that PyTorch's wheel names.

rondo.activate.check() raises an error unless the calls of linked code, such as PyTorch and CuPy, go to
rondo's library. If this package was built for PyTorch, `import torch` makes the same check. PyTorch
opens NVIDIA's file as well where it is installed, but does not use it.
"""

import ctypes
import os
import pathlib
import sys

LIBRARY = pathlib.Path(__file__).resolve().parent / "nccl/libnccl.so.2"
VARIABLE = "LD_PRELOAD"


def mapped(maps="/proc/self/maps"):
    """All NCCL libraries in this process's memory map."""
    lines = pathlib.Path(maps).read_text(errors="surrogateescape").split("\n")
    names = {line.split(maxsplit=5)[5] for line in lines if "/libnccl.so" in line}
    return sorted(name for name in names if pathlib.Path(name).name.startswith("libnccl.so"))


def preloaded():
    """The libnccl.so.2 at the start of LD_PRELOAD, where this module and rondorun --nccl put it."""
    first = pathlib.Path(os.environ.get(VARIABLE, "").split(":")[0])
    return first if first.name.startswith("libnccl.so") else None


class Found(ctypes.Structure):
    """What dladdr() tells of an address: Dl_info."""

    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def bound():
    """The file to which this process's linked calls of NCCL go, or None where there is none."""
    program, found = ctypes.CDLL(None), Found()
    try:
        function = program.ncclCommInitRank
    except AttributeError:
        return None
    if not program.dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(found)):
        return None
    return str(pathlib.Path(os.fsdecode(found.file)).resolve())


def check():
    """Raises RuntimeError unless this process's calls of NCCL go to the preloaded library."""
    wanted = preloaded()
    if wanted is None:
        raise RuntimeError(f"rondo's NCCL is not active: {VARIABLE} does not name it. Try: python -m "
                           "rondo.activate PROGRAM, or rondorun --nccl PROGRAM")
    ours, theirs = str(wanted.resolve()), bound()
    if theirs is None:
        raise RuntimeError(f"rondo's NCCL is not active: {ours} is not in this process's memory. "
                           "Try: look whether that file exists and was built for this kind of machine")
    if theirs != ours:
        raise RuntimeError(f"another NCCL is used by this process: {theirs}. Try: name {ours} first in "
                           f"{VARIABLE}, or put it in that file's place")


def environment(share_gpu):
    """The program's environment: rondo's library is preloaded first, then what was preloaded before."""
    before = [name for name in os.environ.get(VARIABLE, "").split(":") if name and name != str(LIBRARY)]
    result = dict(os.environ, **{VARIABLE: ":".join([str(LIBRARY), *before])})
    if share_gpu:
        result["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        result["LOCAL_RANK"] = "0"
    return result


def command(words):
    by_python = words[0] in ("-m", "-c") or words[0].endswith(".py")
    return [sys.executable, *words] if by_python else words


def main(words):
    share_gpu = False
    while words and words[0] in ("-h", "--help", "--path", "--share-gpu"):
        option = words.pop(0)
        if option in ("-h", "--help"):
            print(__doc__)
            return 0
        if option == "--path":
            print(LIBRARY)
            return 0
        share_gpu = True
    if not words:
        print("rondo.activate: no program was given. Try: python -m rondo.activate --help",
              file=sys.stderr)
        return 2
    if not LIBRARY.exists():
        print(f"rondo.activate: there is no {LIBRARY}. Try: install the package again",
              file=sys.stderr)
        return 1
    program = command(words)
    try:
        os.execvpe(program[0], program, environment(share_gpu))
    except OSError as error:
        print(f"rondo.activate: {program[0]}: {error.strerror}. Try: the program's full path",
              file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
