"""Where CUDA's toolkit is on this machine, and what lies there."""

import glob
import importlib.util
import os
import pathlib
import shutil

USUAL = ("/usr/local/cuda", "/opt/cuda")


def folders():
    """The folders of toolkits, best first: the named ones, the usual ones, and those in Python's packages."""
    packages = importlib.util.find_spec("nvidia")
    places = packages.submodule_search_locations or () if packages else ()
    found = [*map(os.environ.get, ("CUDA_HOME", "CUDA_PATH")), *USUAL,
             *sorted(glob.glob("/usr/local/cuda-*"), reverse=True),
             *(inner for place in places for inner in sorted(glob.glob(f"{place}/*")))]
    return [pathlib.Path(each) for each in found if each and os.path.isdir(each)]


def program(name):
    """A program's path, or None: the one that the shell finds, else a toolkit's."""
    inner = [str(folder / each) for folder in folders() for each in ("bin", name)]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(inner))


def libraries(pattern):
    """The folders that hold such files."""
    return [folder / each for folder in folders() for each in ("lib64", "lib")
            if any((folder / each).glob(pattern))]
