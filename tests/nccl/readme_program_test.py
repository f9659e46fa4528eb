#!/usr/bin/env python3
"""The README's C program, built and run by the README's own commands.

    readme_program_test.py BUILD     a build folder, for the commands' build/release
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def part(text, pattern):
    found = re.search(pattern, text, re.DOTALL)
    if found is None:
        sys.exit(f"README.md has no part like {pattern}")
    return found.group(1)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    section = part((ROOT / "README.md").read_text(encoding="utf-8"),
                   r"\n## Instead of NCCL\n(.*?)\n## ")
    program = part(section, r"\n```c\n(.*?)```\n")
    commands = part(section, r"\n```\n.*?\n\n((?:    [^\n]*\n)+)")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "program.c").write_text(program, encoding="utf-8")
        (folder / "core").symlink_to(ROOT / "core")
        (folder / "build").mkdir()
        (folder / "build/release").symlink_to(build)
        run = subprocess.run(["bash", "-e", "-c", commands], cwd=folder, timeout=240, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(commands + run.stdout)
    wanted = [f"rank {rank} of 4: 10" for rank in range(4)]
    sys.exit(run.returncode or (0 if sorted(run.stdout.splitlines()) == wanted else 1))


if __name__ == "__main__":
    main()
