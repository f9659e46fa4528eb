"""Builds the package rondo with its backend for the PyTorch that is installed.

    tools/build
    pip install --no-build-isolation ./tools/torch

LIBRONDO names another folder than build/release/lib. The headers come from this repository.
"""

import os
import pathlib
import sys

import setuptools

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"   # an older, broken build must not stop this one
try:
    from torch.utils import cpp_extension
except ImportError as error:
    raise SystemExit("rondo's backend is built for the PyTorch that is installed, but this Python has none "
                     f"({error}). Try: pip install torch, then pip install --no-build-isolation "
                     "./tools/torch. To do without torch: pip install ./tools/python") from error

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools/python"))
import package  # noqa: E402  (its folder is known only now)

SOURCES = """
source/backend.cc source/call.cc source/completer.cc source/lists.cc source/meet.cc
source/messages.cc source/module.cc source/single.cc source/tensors.cc source/work.cc
""".split()
BINDINGS = """
source/buffer.cc source/call.cc source/interrupt.cc source/module.cc source/request.cc source/window.cc
source/world.cc
""".split()   # of tools/python


class Build(cpp_extension.BuildExtension.with_options(use_ninja=False)):
    """Links rondo._C with rondo._rondo, which is built first and contains librondo."""

    def build_extension(self, extension):
        if extension.name == "rondo._C":
            extension.extra_objects = [self.get_ext_fullpath("rondo._rondo")]
        super().build_extension(extension)


backend = cpp_extension.CppExtension(
    name="rondo._C", include_dirs=package.includes(),
    sources=[package.joined(["tools/python/source/call.cc", *(f"tools/torch/{name}" for name in SOURCES)],
                            "build/torch/whole.cc")],
    extra_compile_args=package.COMPILER, extra_link_args=["-Wl,-rpath,$ORIGIN"],
    depends=[package.built("librondo.a"), *SOURCES])
torch_headers = cpp_extension.include_paths()[0]   # pybind11's are among them

setuptools.setup(**package.describe(
    entry_points={"torch.backends": ["rondo = rondo.backend:register"]},
    ext_modules=[package.bindings(BINDINGS, torch_headers), backend], cmdclass={"build_ext": Build}))
