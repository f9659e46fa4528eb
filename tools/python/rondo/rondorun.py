"""The program rondorun, which the package brings: starts ranks. See rondorun --help."""

import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).resolve().parent / "bin/rondorun"


def main():
    if not PROGRAM.exists():
        sys.exit(f"rondorun: there is no {PROGRAM}: the package was built where rondorun was not. Try: "
                 "the one of rondo's build folder")
    os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])
