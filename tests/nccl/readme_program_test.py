#!/usr/bin/env python3
"""The C programs of core/nccl/README.md, built and run by the commands of that page.

    readme_program_test.py BUILD     a build folder, for the commands' build/release
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "core/nccl/README.md"
# A program, words, the commands that build and run it.
PART = re.compile(r"\n```c\n(.*?)```\n.*?\n\n((?:    [^\n]*\n)+)", re.DOTALL)
SAID = {
    "program.c": [f"rank {rank} of 4: 10" for rank in range(4)],
    "beyond.c": ["blocks 0 1 1 2 2 2, bits 7, sum 1"],
}


def run(name, program, commands, build):
    """Whether the program says what it must."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / name).write_text(program, encoding="utf-8")
        (folder / "core").symlink_to(ROOT / "core")
        (folder / "build").mkdir()
        (folder / "build/release").symlink_to(build)
        done = subprocess.run(["bash", "-e", "-c", commands], cwd=folder, timeout=240, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(commands + done.stdout)
    return done.returncode == 0 and sorted(done.stdout.splitlines()) == SAID[name]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    parts = PART.findall((ROOT / PAGE).read_text(encoding="utf-8"))
    if len(parts) != len(SAID):
        sys.exit(f"{PAGE} has {len(parts)} programs with commands, not {len(SAID)}")
    for name, (program, commands) in zip(SAID, parts):
        if name not in commands:
            sys.exit(f"{name} is not in: {commands}")
        if not run(name, program, commands, build):
            sys.exit(1)


if __name__ == "__main__":
    main()
