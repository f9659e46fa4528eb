"""Packs what a machine with a GPU needs of a build into a folder or an archive."""

import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

from steps.place import Place

PROGRAMS = ["gpu_reduce", "gpu_calls", "gpu_sweep", "gpu_nccl",
            "gpu_preflight", "gpu_train", "rondorun"]
NEEDED = [name for name in PROGRAMS if name != "gpu_train"]  # building gpu_train takes OpenBLAS
# Every machine has its own of these, and the driver's.
ITS_OWN = re.compile(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cuda|nccl)\.so")
MOST = 64 << 20  # bytes


def libraries(path):
    """{name: file} of what it is linked with."""
    said = subprocess.run(["ldd", path], check=True, text=True, stdout=subprocess.PIPE).stdout
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", said, re.MULTILINE))


def copy(build, other):
    """Copies programs and libraries to other/bin and other/lib."""
    here, there = Place(build), Place(other)
    for folder in (there.bin, there.library().parent):
        folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(here.library(), there.library())
    files = [here.library()]
    for name in PROGRAMS:
        if here.program(name):
            shutil.copy2(here.program(name), there.bin / name)
            files.append(here.program(name))
    for file in files:
        for name, path in libraries(file).items():
            if not ITS_OWN.match(name):
                shutil.copy2(path, there.lib / name)


def pack(build, other):
    """Packs into a folder, or into an archive that holds bin and lib. Returns the bytes."""
    other = pathlib.Path(other)
    if not other.name.endswith(".tar.xz"):
        copy(build, other)
        return sum(path.stat().st_size for path in other.rglob("*") if path.is_file())
    with tempfile.TemporaryDirectory() as folder:
        copy(build, folder)
        with tarfile.open(other, "w:xz", preset=1) as archive:
            for name in ("bin", "lib"):
                archive.add(pathlib.Path(folder) / name, name)
    return other.stat().st_size
