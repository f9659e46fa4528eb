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

rondo.activate.check() raises an error unless rondo's library is the only NCCL in the process. If this
package was built for PyTorch, `import torch` makes the same check. While the package nvidia-nccl-cu12
or nvidia-nccl-cu13 is installed, PyTorch opens its file as well. Uninstall that package first.
"""

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
                           "Try: look whether that file exists and was built for this kind of machine")
    others = [name for name in found if name != ours]
    if others:
        raise RuntimeError(f"another NCCL is in this process beside rondo's: {others[0]}. The program "
                           "has opened it by its path. Try: pip uninstall nvidia-nccl-cu13 (or -cu12) "
                           f"where PyTorch opens it; tell the program to open {ours} instead (vLLM: "
                           "VLLM_NCCL_SO_PATH); or put that file in its place")


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
