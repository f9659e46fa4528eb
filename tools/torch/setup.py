"""Builds rondo's backend for the PyTorch that is installed.

    tools/build release
    pip install --no-build-isolation ./tools/torch

LIBRONDO names another folder that holds librondo.a. The headers are this repository's.
"""

import os
import pathlib

import setuptools

try:
    from torch.utils import cpp_extension
except ImportError as error:
    raise SystemExit("rondo's backend is built for the PyTorch that is installed, and there is none "
                     f"here ({error}). Install torch, then: pip install --no-build-isolation "
                     "./tools/torch") from error

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
SOURCES = """
source/backend.cc source/call.cc source/completer.cc source/lists.cc source/meet.cc
source/messages.cc source/module.cc source/single.cc source/tensors.cc source/work.cc
""".split()


def whole():
    """All sources as one: reading torch's headers takes longer than compiling what is ours."""
    path = REPOSITORY / "build/torch/whole.cc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f'#include "tools/torch/{name}"\n' for name in SOURCES))
    return str(path)


def library():
    """librondo.a, linked into the extension."""
    folder = pathlib.Path(os.environ.get("LIBRONDO", REPOSITORY / "build/release/lib"))
    path = folder / "librondo.a"
    if not path.exists():
        raise SystemExit(f"there is no {path}. Run tools/build first, or set LIBRONDO to the "
                         "folder that holds librondo.a")
    return str(path)


setuptools.setup(
    name="rondo",
    version="0.1.0",
    description="torch.distributed's backend 'rondo'",
    python_requires=">=3.9",
    packages=["rondo"],
    entry_points={"torch.backends": ["rondo = rondo.backend:register"]},
    ext_modules=[cpp_extension.CppExtension(
        name="rondo._C",
        sources=[whole()],
        include_dirs=[str(REPOSITORY), str(REPOSITORY / "core/include")],
        extra_objects=[library()],
        libraries=["hwy"],   # what librondo.a needs
        extra_compile_args=["-std=c++20", "-O2", "-g0", "-fvisibility=hidden"],
        extra_link_args=["-Wl,--exclude-libs,ALL"],
        depends=[library(), *SOURCES])],
    cmdclass={"build_ext": cpp_extension.BuildExtension.with_options(use_ninja=False)},
)
