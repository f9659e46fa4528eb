#!/usr/bin/env python3
"""Tidiness is a test: runs every check over the repository's files.

    tests/tidy/tidy.py [--compiler g++]
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG_FORMAT_MAJOR = 14  # the version this code is formatted with; others format differently


def tracked_files():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split("\0")
    files = {}
    for name in filter(None, names):
        path = ROOT / name
        if path.is_file() and path.suffix != ".png":  # pictures are no text
            files[name] = path.read_text(encoding="utf-8", errors="replace")
    return files


def headers_stand_alone(files, compiler):
    """A public header compiles as a consumer's first include."""
    for name in files:
        if name.startswith("core/include/"):
            run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra",
                                  "-Icore/include", "-x", "c++", "-"],
                                 input=f'#include "{name[len("core/include/"):]}"\n', cwd=ROOT,
                                 text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if run.returncode != 0 or run.stdout:
                yield f"{name}:1: does not compile alone:\n{run.stdout}"


def clang_format():
    """The program's path if it has the right version, else why not."""
    program = shutil.which("clang-format")
    if program is None:
        return None, "clang-format is not installed"
    version = subprocess.run([program, "--version"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    major = int(re.search(r"version (\d+)", version).group(1))
    if major != CLANG_FORMAT_MAJOR:
        return None, f"clang-format is version {major}, of record is {CLANG_FORMAT_MAJOR}"
    return program, ""


def formatted(files):
    """The code is what clang-format makes of it."""
    program, reason = clang_format()
    if program is None:
        print(f"formatted: not checked: {reason}")
        return
    run = subprocess.run([program, "--dry-run", "-Werror", *checks.code(files)], cwd=ROOT,
                         text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in run.stdout.splitlines():
        if "error:" in line:
            yield line


def scripts_parse(files):
    """A script with a shebang parses and may be executed."""
    for name, text in files.items():
        if text.startswith("#!"):
            if not (ROOT / name).stat().st_mode & 0o100:
                yield f"{name}:1: has a #! line but is not executable"
            if "bash" in text.splitlines()[0]:
                run = subprocess.run(["bash", "-n", name], cwd=ROOT, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                if run.returncode != 0:
                    yield run.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="g++")
    compiler = parser.parse_args().compiler
    files = tracked_files()
    complaints = [complaint for check in checks.ALL for complaint in check(files)]
    complaints += headers_stand_alone(files, compiler)
    complaints += formatted(files)
    complaints += scripts_parse(files)
    print("\n".join(complaints))
    print(f"{len(files)} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
