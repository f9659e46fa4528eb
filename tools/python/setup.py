"""Builds the package rondo without its part for torch.distributed (that is tools/torch/setup.py).

    tools/build
    pip install ./tools/python

LIBRONDO names another folder than build/release/lib. The headers come from this repository.
"""

import pathlib
import sys

import setuptools

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import package  # noqa: E402  (its folder is known only now)

try:
    import pybind11
except ImportError as error:
    raise SystemExit("rondo's bindings need the headers of pybind11. Try: pip install without "
                     "--no-build-isolation, or apt install python3-pybind11 first") from error

SOURCES = """
source/buffer.cc source/call.cc source/interrupt.cc source/module.cc source/request.cc source/window.cc
source/world.cc
""".split()

setuptools.setup(**package.describe(ext_modules=[package.bindings(SOURCES, pybind11.get_include())]))
