#!/usr/bin/env python3
"""libnccl.so.2 exports what symbols.txt says, twice over, and nothing else.

    symbols_test.py LIBRARY              against symbols.txt
    symbols_test.py LIBRARY --installed  against an NCCL of this machine; 77 where there is none
    symbols_test.py LIBRARY --size       it and rondo's own libraries that it needs are small
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from dynamic_symbols import exported, lines_of, soname  # noqa: E402  (its folder is known only now)

LIST = pathlib.Path(__file__).with_name("symbols.txt")
SKIPPED = 77
# Exported by NCCL without being in any of its headers, once each.
INTERNAL = {"ncclResetDebugInitInternal"}
# The most that a program may map of them, stripped or not. NVIDIA's library is ten times as large.
MOST_MIB = 40


def differences(names, has):
    """Between the list and what a library exports."""
    wanted = ({name: "W" for name in names} | {"p" + name: "T" for name in names}
              | {name: "T" for name in INTERNAL})
    return [f"{name}: exported as {has.get(name)}, wanted {wanted.get(name)}"
            for name in sorted(wanted.keys() | has.keys()) if wanted.get(name) != has.get(name)]


def check_list(library):
    names = [line for line in LIST.read_text(encoding="utf-8").splitlines()
             if not line.startswith("#")]
    assert names == sorted(set(names)), "symbols.txt is not sorted"
    assert soname(library) == ["libnccl.so.2"], soname(library)
    found = differences(names, exported(library))
    print("\n".join(found))
    return 1 if found else 0


def installed():
    """An NCCL of this machine: where the loader looks, or in CUDA's toolkit."""
    cache = lines_of("/sbin/ldconfig", "-p")
    found = [line.split("=> ")[1] for line in cache if line.strip().startswith("libnccl.so.2 ")]
    found += pathlib.Path("/usr/local").glob("cuda*/lib*/libnccl.so.2")
    return found[0] if found else None


def check_installed(library):
    other = installed()
    if other is None:
        print("SKIPPED: no NCCL is installed on this machine to compare with")
        return SKIPPED
    theirs = {name for name in exported(other) if name.startswith(("nccl", "pnccl"))}
    missing = sorted(theirs - exported(library).keys())
    print(f"{other} exports {len(theirs)} names, of which {library} lacks {missing}")
    return 1 if missing or len(theirs) < 50 else 0


def loaded_sizes(library):
    """{path: bytes that are loaded} of it and of rondo's own libraries that it needs."""
    paths = [library] + [line.split()[2] for line in lines_of("ldd", library) if "librondo" in line]
    sizes = {}
    for path in paths:
        rows = lines_of("size", "--format=berkeley", path)
        sizes[path] = sum(int(field) for field in rows[1].split()[:2])  # text and data
    return sizes


def check_size(library):
    sizes = loaded_sizes(library)
    whole = sum(sizes.values()) / 2**20
    for path, size in sizes.items():
        print(f"{size / 2**20:.1f} MiB: {path}")
    if whole < MOST_MIB:
        return 0
    print(f"together {whole:.1f} MiB, not below {MOST_MIB}: compile kernels for fewer types, "
          "operators or architectures")
    return 1


CHECKS = {"--installed": check_installed, "--size": check_size}

if __name__ == "__main__":
    sys.exit(CHECKS[sys.argv[2]](sys.argv[1]) if sys.argv[2:] else check_list(sys.argv[1]))
