"""Makes libraries that stand in for NVIDIA's where PyTorch's wheel is used without a GPU.

    empty_libraries.py TORCH_FOLDER OUTPUT_FOLDER

PyTorch's wheel for Linux links more than ten libraries of NVIDIA's (2.3 GB to download) and cannot be
imported without them. On a machine without a GPU their functions are never useful. So this program
writes a library of the same name for each of them. Its functions report that there is no device:
- calls return CUDA's error 100
- functions that name errors return a text
- functions that register kernels, while the wheel's libraries are loaded, do nothing
"""

import collections
import pathlib
import re
import subprocess
import sys

SYSTEM_LIBRARY = re.compile(r"^(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libz|libgomp"
                            r"|libgfortran|libquadmath|ld-linux-.*)\.so")
NVIDIA_NAME = re.compile(r"^(__)?(cu|nccl|nv)")
DRIVER = "libcuda.so.1"  # comes with the driver; loaded only if there is one


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def symbols(library, option):
    """(name, version) of a library's dynamic symbols. `option` chooses undefined or defined ones."""
    for line in lines("nm", "-D", option, str(library)):
        kind, symbol = line.split()[-2:]
        if kind in "wv" and option == "--undefined-only":
            continue  # may stay undefined
        name, _, version = symbol.partition("@")
        yield name, version.lstrip("@")


def dependencies(library):
    """The libraries that a library needs, and for each the symbol versions that it requires."""
    needed, versions, source = [], collections.defaultdict(set), None
    for line in lines("objdump", "-p", str(library)):
        words = line.split()
        if words[:1] == ["NEEDED"]:
            needed.append(words[1])
        elif words[:2] == ["required", "from"]:
            source = words[2].rstrip(":")
        elif source and len(words) == 4 and words[0].startswith("0x"):
            versions[source].add(words[3])
    return needed, versions


def function(name):
    """The C text of a function that reports that there is no device."""
    if name.startswith("__cuda"):
        return f"long {name}(void) {{ return 0; }}"
    if re.search(r"Error(String|Name)|GetErrorString|StatusString|StatusName", name):
        return f'const char* {name}(void) {{ return "no GPU: this is an empty library"; }}'
    return f"long {name}(void) {{ return 100; }}"


def write_library(folder, soname, functions, version):
    """`version`: the symbol version of all its functions, or None."""
    options = ["cc", "-w", "-O1", "-shared", "-fPIC", "-fno-builtin", f"-Wl,-soname,{soname}"]
    script = folder / f"{soname}.map"
    if version is not None:
        script.write_text(f"{version} {{ global: *; }};\n")
        options.append(f"-Wl,--version-script={script}")
    subprocess.run([*options, "-x", "c", "-", "-o", str(folder / soname)],
                   check=True, input="\n".join(map(function, sorted(functions))), text=True)
    script.unlink(missing_ok=True)


def missing_of(torch):
    """{library: (its version or None, the functions that it should have)}."""
    libraries = sorted((torch / "lib").glob("*.so*"))
    defined = {name for library in libraries for name, _ in symbols(library, "--defined-only")}
    known = {library.name for library in libraries} | {DRIVER}
    missing = {}
    for library in libraries:
        needed, versions = dependencies(library)
        for name in needed:
            if name not in known and not SYSTEM_LIBRARY.match(name):
                missing.setdefault(name, (None, set()))
        for name in missing.keys() & versions.keys():
            missing[name] = (min(versions[name]), missing[name][1])
    by_version = {version: functions for version, functions in missing.values() if version}
    without_version = next(functions for version, functions in missing.values() if not version)
    for library in libraries:
        for name, version in symbols(library, "--undefined-only"):
            if version in by_version:
                by_version[version].add(name)
            elif not version and name not in defined and NVIDIA_NAME.match(name):
                without_version.add(name)
    return missing


def main():
    torch, output = map(pathlib.Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    missing = missing_of(torch)
    for soname, (version, functions) in missing.items():
        write_library(output, soname, functions, version)
    total = sum(len(functions) for _, functions in missing.values())
    print(f"{len(missing)} empty libraries with {total} functions in {output}")


if __name__ == "__main__":
    main()
