#!/usr/bin/env python3
"""Compiles typed_refusals.cc: each line marked "refused: WORDS" must be an error in these words.

    typed_refusals.py COMPILER INCLUDE_FOLDER SOURCE

Also compiles uses of C++23's float types, where the compiler has them.
"""

import os
import re
import subprocess
import sys

compiler, include, source = sys.argv[1:]
standard_floats = """
#include <rondo/rondo.h>
#ifdef __STDCPP_FLOAT16_T__
static_assert(rondo::data_type_of<std::float16_t> == rondo::DataType::float16);
void half(rondo::Communicator& world, std::float16_t value) { world.all_reduce(value); }
#endif
#ifdef __STDCPP_BFLOAT16_T__
static_assert(rondo::data_type_of<std::bfloat16_t> == rondo::DataType::bfloat16);
#endif
#ifdef __STDCPP_FLOAT32_T__
static_assert(rondo::data_type_of<std::float32_t> == rondo::DataType::float32);
#endif
"""


def compile_only(standard, file, text=None):
    return subprocess.run(
        [compiler, f"-std={standard}", "-fsyntax-only", "-fdiagnostics-color=never", "-I", include,
         "-x", "c++", file],
        input=text, env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, universal_newlines=True, check=False)


def main():
    answer = compile_only("c++20", source)
    said = answer.stdout
    complaints = []
    with open(source, encoding="utf-8") as file:
        refused = [(number, line.split("// refused: ")[1].strip())
                   for number, line in enumerate(file, 1) if "// refused: " in line]
    errors = re.findall(r"\berror: .*", said)
    if answer.returncode == 0:
        complaints.append("it compiles")
    for number, _ in refused:
        if f"{source}:{number}:" not in said:
            complaints.append(f"line {number} is not refused")
    for words in {words for _, words in refused}:
        expected = sum(words == other for _, other in refused)
        found = sum(words in error for error in errors)
        if found != expected:
            complaints.append(f"{found} errors say '{words}', not {expected}")
    if len(errors) != len(refused):
        complaints.append(f"{len(errors)} errors for {len(refused)} refused lines")

    standard = "c++23"
    if compile_only(standard, "-", "").returncode != 0:
        standard = "c++2b"
    floats = compile_only(standard, "-", standard_floats)
    if floats.returncode != 0:
        complaints.append("C++23's float types")
        said += floats.stdout
    if complaints:
        print(said)
    for complaint in complaints:
        print(f"{source}: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
