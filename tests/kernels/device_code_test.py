#!/usr/bin/env python3
"""The machine code of the device kernels, as it is in the library: device_code.py has the rules.

    device_code_test.py ROOT PTXAS FOLDER... FILE...
        PTXAS     what has made the code
        FOLDER    where nvdisasm may be, besides the PATH
        FILE      the images' files: .ptx, and .cubin with ptxas's words in .cubin.log
"""

import pathlib
import re
import shutil
import subprocess
import sys

import device_code

SKIPPED = 77


def major_of(ptxas):
    words = subprocess.run([ptxas, "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return int(re.search(r"release (\d+)\.", words).group(1))


def disassembled(nvdisasm, cubin):
    return subprocess.run([nvdisasm, "-c", cubin], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout


def codes_of(ptx, files, nvdisasm):
    for file in sorted(files):
        found = re.fullmatch(rf"{ptx.stem}\.sm_(\d+)\.cubin", file.name)
        if found is None or file.parent != ptx.parent:
            continue
        log = pathlib.Path(f"{file}.log").read_text()
        code = device_code.read_code(int(found.group(1)), file.read_bytes(), log)
        if nvdisasm:
            code.assembly = disassembled(nvdisasm, file)
        yield code


def main():
    root, ptxas, *rest = [pathlib.Path(argument) for argument in sys.argv[1:]]
    folders = [str(path) for path in rest if path.is_dir()]
    files = [path for path in rest if path.suffix in (".ptx", ".cubin")]
    nvdisasm = shutil.which("nvdisasm", path=":".join(folders)) or shutil.which("nvdisasm")
    fences = (root / "kernels/device/fences.h").read_text()
    wrong = 0
    for ptx in (file for file in files if file.suffix == ".ptx"):
        codes = list(codes_of(ptx, files, nvdisasm))
        print(f"{ptx.name}: sm_{', sm_'.join(str(code.sm) for code in codes)}")
        for complaint in device_code.complaints(ptx.read_text(), codes, fences, major_of(ptxas)):
            print(f"{ptx.name}: {complaint}")
            wrong += 1
    if wrong:
        return 1
    if not nvdisasm:
        print("instructions were not looked at: there is no nvdisasm (tools/setup test fetches it)")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
