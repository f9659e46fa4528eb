#!/usr/bin/env python3
"""librondo.so exports the functions of the public headers: those that symbols.txt lists, no fewer, no more.

    symbols.py LIBRARY     exit status 1 where list and library differ

Programs that were linked with librondo.so need each of them for as long as its soname stays. The soname has
the minor version, so a function may go, or take other arguments, with a new minor version. The layout of
structures is not checked. The library also exports functions of no public header, for rondo's own programs.
"""

import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
import dynamic_symbols  # noqa: E402  (its folder is known only now)

HEADERS = FOLDER.parents[1] / "core/include/rondo"
TYPE = re.compile(r"^(?:class|struct) (\w+)[^;{]*\{", re.M)
FUNCTION = re.compile(r"^(?!static_assert|concept|template|using)\w[\w:<>, ]*[\w>&*] (\w+)\(", re.M)
# Overloads of public functions that no public header has.
INTERNAL = {"rondo::available_memory(std::filesystem::__cxx11::path const&)",
            "rondo::size_of(rondo::Call const&, std::span<unsigned long const, 18446744073709551615ul>, int)"}


def public(symbols, headers):
    """Of {symbol: kind} those that a program can name, by the text of the public headers. Inline functions
    (weak symbols) are in the programs themselves. Private members count: inline functions may call them."""
    types, functions = set(TYPE.findall(headers)), set(FUNCTION.findall(headers))
    found = set()
    for symbol, kind in symbols.items():
        words = re.sub(r"^(typeinfo|typeinfo name|vtable) for ", "", symbol)
        parts = words.replace("[abi:cxx11]", "").split("(")[0].split("::")
        is_public = parts[1] in types if len(parts) > 2 or words != symbol else parts[-1] in functions
        if parts[0] == "rondo" and is_public and kind != "W" and symbol not in INTERNAL:
            found.add(symbol)
    return found


def complaints(listed, symbols, headers):
    """`listed` is the text of symbols.txt without its comments."""
    wanted, has = listed.splitlines(), public(symbols, headers)
    if wanted != sorted(set(wanted)):
        yield "the list is not sorted, or has a line twice"
    for symbol in sorted(set(wanted) - has):
        yield (f"{symbol}\n  is in the list, but the library lacks it: programs that need it no longer "
               "start. Try: keep it, or raise the minor version in core/include/rondo/version.h and then "
               "take it from the list")
    for symbol in sorted(has - set(wanted)):
        yield f"{symbol}\n  is public, but not in the list. Try: add this line to tests/install/symbols.txt"


def soname_of(headers):
    major, minor = (re.search(rf"^#define RONDO_VERSION_{part} (\d+)", headers, re.M)[1]
                    for part in ("MAJOR", "MINOR"))
    return f"librondo.so.{major}.{minor}" if major == "0" else f"librondo.so.{major}"


def main():
    library = sys.argv[1]
    headers = "\n".join(path.read_text(encoding="utf-8") for path in sorted(HEADERS.rglob("*.h")))
    lines = (FOLDER / "symbols.txt").read_text(encoding="utf-8").splitlines()
    listed = "\n".join(line for line in lines if not line.startswith("#"))
    found = list(complaints(listed, dynamic_symbols.exported(library, "-C"), headers))
    if dynamic_symbols.soname(library) != [soname_of(headers)]:
        found.append(f"the soname is {dynamic_symbols.soname(library)}, not {soname_of(headers)}")
    print("\n".join(found) or f"{len(listed.splitlines())} public symbols, as listed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
