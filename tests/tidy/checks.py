"""The checks of tests/tidy: each takes {path: text} and yields complaints "path:line: what".

A check sees only the texts it is given, so its mutation test can feed it a bad snippet.
"""

import posixpath
import re

CODE = (".h", ".cc", ".cu", ".cuh")
MAX_WIDTH = 110
MAX_LINES = 400

# Written in pieces, so that this file does not complain about itself.
UNFINISHED = re.compile(
    r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "st" + "ub", "place" + "holder",
                       "not imple" + "mented", "unimple" + "mented"]) + r")\b", re.IGNORECASE)
MACHINE = re.compile("|".join(["/wo" + "rk/", "/tmp/ba" + "sh_jobs", "/home/" + r"\w",
                               r"deb\.deb" + r"ian\.org", r"archive\.ubu" + r"ntu\.com"]))

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

# The layers, lowest first; arrows point down only. Longest matching folder wins.
LAYERS = [
    ["core/include", "core/base"],
    ["core/settings"],
    ["core/topology"],
    ["core/cuda", "core/memory", "core/schedule", "core/transport", "core/control", "kernels"],
    ["algorithms", "transports"],
    ["core/plan"],
    ["core/trace"],
    ["core/execute"],
    ["core/communicator", "core/include/rondo/rondo.h"],
    ["core/stream", "core/resident", "core/direct_device"],
    ["core/dispatch", "core/include/rondo/stream.h"],
    ["core/nccl"],
    ["tools", "bench", "tests"],
]


def code(files):
    return {path: text for path, text in files.items() if path.endswith(CODE)}


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def matches(files, pattern, what):
    for path, text in files.items():
        for match in pattern.finditer(text):
            yield f"{path}:{line_of(text, match.start())}: {what} '{match.group(0)}'"


def pragma_once(files):
    """Every header guards itself. Highway's -inl.h, compiled once per instruction set, do it its way."""
    for path, text in code(files).items():
        guard = "HWY_TARGET_TOGGLE" if path.endswith("-inl.h") else "\n#pragma once\n"
        if path.endswith((".h", ".cuh")) and guard not in "\n" + text:
            yield f"{path}:1: header without #pragma once"


def finished(files):
    """No word promises later work."""
    yield from matches(files, UNFINISHED, "unfinished work:")


def no_machine(files):
    """Nothing names one machine's folders or one mirror's host."""
    yield from matches(files, MACHINE, "names a machine:")


PRINTED = re.compile(r'R"(\w*)\(.*?\)\1"|// clang-format off.*?// clang-format on', re.DOTALL)


def line_width(files):
    """Lines fit on a screen, except texts that stand as a program prints them."""
    for path, text in files.items():
        if path.endswith(CODE + (".pml", ".py", ".js", ".css", ".cmake", "CMakeLists.txt")):
            shown = PRINTED.sub(lambda wide: "\n" * wide.group(0).count("\n"), text)
            for number, line in enumerate(shown.splitlines(), 1):
                if len(line) > MAX_WIDTH:
                    yield f"{path}:{number}: {len(line)} columns, at most {MAX_WIDTH}"


def file_length(files):
    """A file past the limit is two files."""
    for path, text in files.items():
        lines = text.count("\n")
        if path.endswith(CODE + (".pml", ".py", ".js", ".css", ".html")) and lines > MAX_LINES:
            yield f"{path}:{lines}: {lines} lines, at most {MAX_LINES}"


def resolve(included, files):
    """The repository path of an include, or None for a foreign one."""
    for path in (included, posixpath.join("core/include", included)):
        if path in files:
            return path
    return None


def includes_exist(files):
    """Quoted includes are paths from the root (or public headers) that exist, or Highway's."""
    for path, text in code(files).items():
        for match in INCLUDE.finditer(text):
            included = match.group(1)
            if resolve(included, files) is None and not included.startswith("hwy/"):
                yield f"{path}:{line_of(text, match.start())}: no file {included}"


def layer_of(path):
    """Index into LAYERS, or None for a file outside them."""
    best = None
    for index, folders in enumerate(LAYERS):
        for folder in folders:
            if path == folder or path.startswith(folder + "/"):
                if best is None or len(folder) > best[0]:
                    best = (len(folder), index)
    return best[1] if best else None


def layers(files):
    """Includes point down, or sideways within a layer, never up."""
    for path, text in code(files).items():
        own = layer_of(path)
        if own is None:
            yield f"{path}:1: in no layer; name its folder in LAYERS"
            continue
        for match in INCLUDE.finditer(text):
            target = resolve(match.group(1), files)
            if target is not None and layer_of(target) > own:
                yield (f"{path}:{line_of(text, match.start())}: includes {target} "
                       f"of a higher layer ({LAYERS[layer_of(target)]})")


FOREACH = re.compile(r"foreach\((\w+) ([^)]*)\)(.*?)endforeach\(\)", re.DOTALL)


def words_of_list(text):
    """The words of a CMakeLists.txt, its foreach loops over plain words unrolled."""
    def unroll(loop):
        variable, values, body = loop.groups()
        return " ".join(body.replace("${" + variable + "}", value) for value in values.split())
    return set(re.split(r"[\s()]+", FOREACH.sub(unroll, text)))


def no_dead_files(files):
    """Every source is built by some CMakeLists.txt or setup.py above it; every header is included."""
    included = {resolve(match.group(1), files)
                for text in code(files).values() for match in INCLUDE.finditer(text)}
    lists = {posixpath.dirname(path): words_of_list(text)
             for path, text in files.items()
             if posixpath.basename(path) in ("CMakeLists.txt", "setup.py")}
    for path in code(files):
        if path.endswith((".h", ".cuh")):
            if path not in included and not path.startswith("core/include/"):
                yield f"{path}:1: dead header: nothing includes it"
        elif not any(posixpath.relpath(path, folder or ".") in words
                     for folder, words in lists.items()):
            yield f"{path}:1: dead source: no CMakeLists.txt or setup.py builds it"


ATOMIC_CALL = re.compile(
    r"(?:\.|->)(?:load\(\)|(?:store|fetch_(?:add|sub|and|or|xor)|"
    r"compare_exchange_(?:weak|strong))\()|\.exchange\(")


def call_text(text, opening):
    """The text from the opening parenthesis at `opening` to its closing one."""
    depth = 0
    for position in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return text[opening:position + 1]
    return text[opening:]


def memory_order(files):
    """An atomic access says its memory order; the default hides what pairs with what."""
    for path, text in code(files).items():
        for match in ATOMIC_CALL.finditer(text):
            opening = text.index("(", match.start())
            if "memory_order" not in call_text(text, opening):
                yield (f"{path}:{line_of(text, match.start())}: atomic access "
                       f"'{match.group(0)}' without a memory order")


ALL = [pragma_once, finished, no_machine, line_width, file_length, includes_exist, layers,
       no_dead_files, memory_order]
