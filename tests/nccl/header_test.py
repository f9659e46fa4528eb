#!/usr/bin/env python3
"""nccl.h compiles as C11 and C++20. It lays everything out as an installed NCCL's header does.
rondo/nccl.h compiles with both headers, from C99 on. Its functions are null in a library without
them.

    header_test.py CXX LIBRARY   77 where there is no NCCL to compare with, after the rest has passed
"""

import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).parent
OURS = pathlib.Path(__file__).resolve().parents[2] / "core/nccl/include"
SKIPPED = 77
PLACES = [pathlib.Path("/usr/include"), *pathlib.Path("/usr/local").glob("cuda*/include")]
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
LANGUAGES = {"C11": ("-x", "c", "-std=c11"), "C++20": ("-x", "c++", "-std=c++20")}
OTHER_LIBRARY = "int ncclGetVersion(int* version) { return *version = 22809, 0; }"


def layout(compiler, folder, *flags):
    """What layout.c prints when it is built with the header in `folder`."""
    with tempfile.TemporaryDirectory() as name:
        program = pathlib.Path(name) / "layout"
        subprocess.run([compiler, *flags, "-I", folder, FOLDER / "layout.c", "-o", program],
                       check=True)
        return subprocess.run([program], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.splitlines()


def other_library(compiler, folder):
    """A libnccl.so.2 that is not rondo's."""
    path = folder / "libnccl.so.2"
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", path,
                    "-Wl,-soname,libnccl.so.2"], input=OTHER_LIBRARY, text=True, check=True)
    return path


def check_extensions(compiler, library, headers, *flags):
    """rondo/nccl.h with the nccl.h in `headers`: linked with each library and run with each."""
    with tempfile.TemporaryDirectory() as name:
        libraries = {"here": library, "not here": other_library(compiler, pathlib.Path(name))}
        for linked in libraries.values():
            program = pathlib.Path(name) / "program"
            subprocess.run([compiler, *flags, "-fPIE", "-pie", "-I", headers, "-I", OURS,
                            FOLDER / "rondo_header.c", "-x", "none", linked, "-o", program],
                           check=True)
            for words, path in libraries.items():
                environment = dict(os.environ, LD_LIBRARY_PATH=str(path.parent))
                said = subprocess.run([program], env=environment, check=True, text=True,
                                      stdout=subprocess.PIPE).stdout
                assert said == f"rondo's functions are {words}\n", (said, path, linked)


def check_place(compiler):
    """Where rondo/nccl.h is found as <nccl.h>, it says so."""
    said = subprocess.run([compiler, "-x", "c", "-std=c99", "-fsyntax-only", "-I", OURS / "rondo",
                           "-I", OURS, FOLDER / "rondo_header.c"], stderr=subprocess.PIPE,
                          text=True, check=False)
    assert said.returncode != 0 and "give the folder above rondo/" in said.stderr, said.stderr


def main():
    compiler, library = sys.argv[1], pathlib.Path(sys.argv[2])
    ours = [layout(compiler, OURS, *flags, *WARNINGS, *more)
            for flags in LANGUAGES.values()
            for more in ((), ("-DRONDO_NCCL_PLAIN",), ("-DRONDO_NCCL_NO_DEVICE_API",))]
    assert all(each == ours[0] and len(each) > 100 for each in ours), ours
    print(f"nccl.h gives {len(ours[0])} equal answers as {' and '.join(LANGUAGES)}")
    for flags in (*LANGUAGES.values(), ("-x", "c", "-std=c99")):
        check_extensions(compiler, library, OURS, "-DRONDO_NCCL_PLAIN", *flags, *WARNINGS)
    check_place(compiler)
    theirs = [folder for folder in PLACES
              if (folder / "nccl.h").exists() and (folder / "cuda_runtime.h").exists()]
    if not theirs:
        print("SKIPPED: no NCCL with CUDA's headers is installed on this machine to compare with")
        sys.exit(SKIPPED)
    check_extensions(compiler, library, theirs[0], *LANGUAGES["C11"])
    installed = layout(compiler, theirs[0], *LANGUAGES["C11"])
    assert len(installed) > 60, installed
    other = [line for line in installed if line not in ours[0]]
    for line in other:
        print(f"{theirs[0]}: {line}, which is not so here")
    print(f"{theirs[0]}/nccl.h gives {len(installed)} of these answers")
    sys.exit(1 if other else 0)


if __name__ == "__main__":
    main()
