"""Lets an unmodified program use rondo's libnccl.so.2 instead of NVIDIA's.

    python -m rondo.activate train.py --epochs 3
    python -m rondo.activate -m torch.distributed.run --nproc-per-node 2 train.py
    torchrun --nproc-per-node 2 --no-python python -m rondo.activate --share-gpu train.py
    python -m rondo.activate --path

A program that ends in .py, -m MODULE and -c TEXT are run by this Python, anything else as it is. The
library is preloaded (LD_PRELOAD), which beats the folder that PyTorch's wheels name, in this process
and in all that it starts. --share-gpu gives all ranks the first GPU: it sets LOCAL_RANK to 0, so under
torchrun it belongs behind it, as above. --path only prints where the library is.

Whoever imports torch in such a process with this package installed for torch gets an error unless
the only NCCL in its memory map is rondo's; with the package alone, rondo.activate.check() says the
same.
"""

import os
import pathlib
import sys

LIBRARY = pathlib.Path(__file__).resolve().parent / "nccl/libnccl.so.2"
VARIABLE = "LD_PRELOAD"


def mapped(maps="/proc/self/maps"):
    """The files of this process's memory map that are an NCCL."""
    lines = pathlib.Path(maps).read_text(errors="surrogateescape").split("\n")
    names = {line.split(maxsplit=5)[5] for line in lines if "/libnccl.so" in line}
    return sorted(name for name in names if pathlib.Path(name).name.startswith("libnccl.so"))


def preloaded():
    """The libnccl.so.2 that LD_PRELOAD begins with, as activate and rondorun --nccl set it."""
    first = pathlib.Path(os.environ.get(VARIABLE, "").split(":")[0])
    return first if first.name.startswith("libnccl.so") else None


def check():
    """Raises RuntimeError unless the only NCCL in this process is the preloaded one."""
    wanted = preloaded()
    if wanted is None:
        raise RuntimeError(f"rondo's NCCL is not active: {VARIABLE} does not name it. Try: python -m "
                           "rondo.activate PROGRAM, or rondorun --nccl PROGRAM")
    found = mapped()
    ours = str(wanted.resolve())
    if ours not in found:
        raise RuntimeError(f"rondo's NCCL is not active: {ours} is not in this process's memory. "
                           "Try: look whether the file is there and for this kind of machine")
    others = [name for name in found if name != ours]
    if others:
        raise RuntimeError(f"another NCCL is in this process beside rondo's: {others[0]}. The program "
                           "has opened it by its path. Try: tell it to open "
                           f"{ours} (vLLM: VLLM_NCCL_SO_PATH), or put that file in its place")


def environment(share_gpu):
    """What the program gets: the library first, then what was preloaded already."""
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
        print(f"rondo.activate: {program[0]}: {error.strerror}. Try: its whole path", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
