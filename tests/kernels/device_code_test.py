#!/usr/bin/env python3
"""What nvcc makes of the kernels that combine buffers: 16-byte accesses, several loads under way.

    device_code_test.py NVCC ROOT OPTION...   the options that the image is compiled with

Reads the PTX for sm_80: no device is needed, and ptxas schedules loads no later than they stand.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = "kernels/cuda/combine.cu"
# By kernel: bytes of an element, and the loads of 16 bytes that a thread has under way at least.
KERNELS = {"float16": (2, 4), "bfloat16": (2, 4), "float32": (4, 4)}
SINGLES = 8  # the same for single elements, where pointers are not aligned to 16 bytes
ACCESS = re.compile(r"(ld|st)\.global(?:\.v(\d))?\.[a-z]+(\d+)\s+(.*);")
REGISTER = re.compile(r"%[a-z]+\d+")


def compile_ptx(nvcc, root, options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "combine.ptx"
        subprocess.run([nvcc, "-ptx", "-arch=compute_80", *options, f"-I{root}",
                        f"-I{root}/core/include", "-o", path, root / SOURCE], check=True)
        return path.read_text()


def body(ptx, kernel):
    """The lines of one kernel's code."""
    found = re.search(rf"\.entry rondo_combine_{kernel}\(.*?^}}", ptx, re.DOTALL | re.MULTILINE)
    assert found, f"no kernel rondo_combine_{kernel}"
    return [line.strip() for line in found.group(0).splitlines()]


def accesses(line):
    """(load or store, bytes, operands) of a global access; None of anything else."""
    found = ACCESS.match(line)
    if not found:
        return None
    kind, lanes, bits, operands = found.groups()
    return kind, int(lanes or 1) * int(bits) // 8, operands


def under_way(lines, size):
    """The most loads of `size` bytes of which nothing is used, in one stretch without a branch."""
    most, loads, waiting = 0, 0, set()  # waiting: registers that hold what was loaded
    for line in lines:
        access = accesses(line)
        if access and access[:2] == ("ld", size):
            loads += 1
            waiting |= set(REGISTER.findall(access[2].rsplit("[", 1)[0]))
            most = max(most, loads)
            continue
        used = waiting & set(REGISTER.findall(line))
        if used and line.startswith("mov"):  # a vector taken apart
            waiting |= set(REGISTER.findall(line))
        elif used or line.startswith("$") or "bra" in line.split():
            loads, waiting = 0, set()
    return most


def complaints(ptx):
    for kernel, (element, group) in KERNELS.items():
        lines = body(ptx, kernel)
        for size, wanted in ((16, group), (element, SINGLES)):
            if not any(a and a[:2] == ("st", size) for a in map(accesses, lines)):
                yield f"{kernel}: nothing stores {size} bytes at once"
            most = under_way(lines, size)
            print(f"{kernel}: {most} loads of {size} bytes under way at once")
            if most < wanted:
                yield f"{kernel}: {most} loads of {size} bytes are under way at once, not {wanted}"
        if any(line.startswith(("ld.local", "st.local")) for line in lines):
            yield f"{kernel}: values lie in local memory, not in registers"


def main():
    nvcc, root, *options = sys.argv[1:]
    wrong = list(complaints(compile_ptx(nvcc, pathlib.Path(root), options)))
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
