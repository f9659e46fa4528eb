#!/usr/bin/env python3
"""nccl.h compiles as C11 and C++20, and lays everything out as an installed NCCL's header does.

    header_test.py CXX   77 where there is no NCCL to compare with, after the rest has passed
"""

import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).with_name("layout.c")
OURS = pathlib.Path(__file__).resolve().parents[2] / "core/nccl/include"
SKIPPED = 77
PLACES = [pathlib.Path("/usr/include"), *pathlib.Path("/usr/local").glob("cuda*/include")]


def layout(compiler, folder, *flags):
    """What the program prints that is built with the header in `folder`."""
    with tempfile.TemporaryDirectory() as name:
        program = pathlib.Path(name) / "layout"
        subprocess.run([compiler, *flags, "-I", folder, SOURCE, "-o", program], check=True)
        return subprocess.run([program], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.splitlines()


def main():
    warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
    languages = {"C11": ("-x", "c", "-std=c11"), "C++20": ("-x", "c++", "-std=c++20")}
    ours = [layout(sys.argv[1], OURS, *flags, *warnings, *more)
            for flags in languages.values() for more in ((), ("-DRONDO_NCCL_PLAIN",))]
    assert all(each == ours[0] and len(each) > 60 for each in ours), ours
    print(f"nccl.h gives {len(ours[0])} equal answers as {' and '.join(languages)}")
    theirs = [folder for folder in PLACES
              if (folder / "nccl.h").exists() and (folder / "cuda_runtime.h").exists()]
    if not theirs:
        print("SKIPPED: no NCCL with CUDA's headers is installed on this machine to compare with")
        sys.exit(SKIPPED)
    installed = layout(sys.argv[1], theirs[0], *languages["C11"])
    for mine, its in zip(ours[0], installed):
        if mine != its:
            print(f"{mine}, in {theirs[0]}: {its}")
    print(f"compared with {theirs[0]}/nccl.h")
    sys.exit(0 if ours[0] == installed else 1)


if __name__ == "__main__":
    main()
