"""How the package rondo is built: shared by tools/python/setup.py and tools/torch/setup.py."""

import os
import pathlib
import re
import shutil
import sysconfig

import setuptools
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
COMPILER = ["-std=c++20", "-O2", "-g0", "-fvisibility=hidden"]


def built(name):
    """The path of one of rondo's libraries. LIBRONDO names another folder than build/release/lib."""
    folder = pathlib.Path(os.environ.get("LIBRONDO", REPOSITORY / "build/release/lib"))
    path = folder / name
    if not path.exists():
        raise SystemExit(f"there is no {path}. Run tools/build first, or set LIBRONDO to the "
                         "folder that holds librondo.a and nccl/libnccl.so.2")
    return str(path)


def includes():
    return [str(REPOSITORY), str(REPOSITORY / "core/include")]


def file_name(module):
    return module + sysconfig.get_config_var("EXT_SUFFIX")


def joined(sources, path):
    """Writes one source that includes all: most of the time goes into reading the headers."""
    path = REPOSITORY / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f'#include "{name}"\n' for name in sources))
    return os.path.relpath(path)


def bindings(sources, pybind11):
    """The module rondo._rondo. It contains all of librondo.a. rondo._C uses that copy, so that a process
    has only one rondo."""
    return setuptools.Extension(
        name="rondo._rondo", language="c++",
        sources=[joined([f"tools/python/{name}" for name in sources], "build/python/whole.cc")],
        include_dirs=[*includes(), pybind11], extra_compile_args=COMPILER,
        extra_link_args=["-Wl,--whole-archive", built("librondo.a"), "-Wl,--no-whole-archive",
                         "-lhwy", "-lsodium", "-lisal", f"-Wl,-soname,{file_name('_rondo')}"],
        depends=[built("librondo.a"), *(str(FOLDER / name) for name in sources)])


class WithLibrary(build_py):
    """Adds rondo's libnccl.so.2 to the package, for rondo.activate, and rondorun if it was built. LICENCES
    names a folder that it adds, too."""

    def run(self):
        super().run()
        package = pathlib.Path(self.build_lib) / "rondo"
        launcher = pathlib.Path(built("librondo.a")).parents[1] / "bin/rondorun"
        for folder, path in (("nccl", built("nccl/libnccl.so.2")), ("bin", launcher)):
            (package / folder).mkdir(parents=True, exist_ok=True)
            if pathlib.Path(path).exists():
                shutil.copy(path, package / folder)
        shutil.rmtree(package / "licences", ignore_errors=True)   # of a build before
        if "LICENCES" in os.environ:
            shutil.copytree(os.environ["LICENCES"], package / "licences")


def version():
    """That of the library."""
    header = (REPOSITORY / "core/include/rondo/version.h").read_text()
    return ".".join(re.findall(r"^#define RONDO_VERSION_\w+ (\d+)", header, re.M))


def describe(**more):
    """The arguments of setup() that both packages share."""
    common = {"name": "rondo", "version": version(), "python_requires": ">=3.9",
              "packages": ["rondo"], "package_dir": {"rondo": os.path.relpath(FOLDER / "rondo")},
              "description": "collective communication for numpy arrays and torch tensors"}
    scripts = {"console_scripts": ["rondorun = rondo.rondorun:main"]}
    return common | more | {
        "entry_points": scripts | more.get("entry_points", {}),
        "cmdclass": {"build_py": WithLibrary, "build_ext": build_ext} | more.get("cmdclass", {})}
