"""What is wrong with an image of device kernels: its PTX, and the machine code that is made of it.

complaints(ptx, codes, fences, ptxas_major) takes texts only; read_code() makes them of a file.
"""

import collections
import dataclasses
import re
import struct

PTX_HEADER = (".version 7.7", ".target sm_75")  # a driver of CUDA 11.7, and every device that has it
REGISTERS = 65536                               # of a processor, in steps of 8 for each thread
# By kernel: bytes of an element, and the loads of 16 bytes that a thread has under way at least.
WIDE = {"rondo_combine_float16": (2, 4), "rondo_combine_bfloat16": (2, 4), "rondo_combine_float32": (4, 4)}
SINGLES = 8  # the same for single elements, where pointers are not aligned to 16 bytes
# What ptxas makes of each ordered access. A release is a fence before a relaxed store; an acquire is a
# relaxed load, after which the nearest cache is emptied.
FENCE, EMPTYING = "MEMBAR.ALL.SYS", "CCTL.IVALL"
MACHINE_CODE = {
    "ld.acquire.sys.global.u64": ("LDG.E.64.STRONG.SYS", EMPTYING),
    "st.release.sys.global.u64": (FENCE, "STG.E.64.STRONG.SYS"),
    "ld.relaxed.sys.global.u64": ("LDG.E.64.STRONG.SYS",),
    "st.relaxed.sys.global.u64": ("STG.E.64.STRONG.SYS",),
    "st.release.sys.global.u32": (FENCE, "STG.E.STRONG.SYS"),
    "st.relaxed.sys.global.u32": ("STG.E.STRONG.SYS",),
    "atom.acq_rel.sys.global.add.u64": (FENCE, "ATOMG.E.ADD.64.STRONG.SYS", EMPTYING),
    "ld.relaxed.sys.global.v2.u64": ("LDG.E.128.STRONG.SYS",),
    "st.relaxed.sys.global.v2.u64": ("STG.E.128.STRONG.SYS",),
    "atom.relaxed.sys.global.cas.b64": ("ATOMG.E.CAS.64.STRONG.SYS",),
}
RELEASES = {code[1] for code in MACHINE_CODE.values() if code[0] == FENCE}
ORDERED_PTX = re.compile(r"\b(?:(?:ld|st|atom|red)\.(?:acquire|release|acq_rel|relaxed|volatile|mmio)|"
                         r"fence|membar)\.[a-z0-9_.]*|\bld\.global\.nc[a-z0-9_.]*")
ORDERED_CODE = re.compile(r"MEMBAR|FENCE|CCTL|.*\.STRONG|ATOM|RED\b|.*\.MMIO")
BYPASSES = re.compile(r"LDG.*\.(?:CONSTANT|NC)\b|TEX|TLD|SULD|LDC.*\bcx\[")  # the coherent caches
INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
ACCESS = re.compile(r"(LDG?|STG?)(?:\.E)?(?:\.(128|64|[US]8|[US]16))?(?:\.SYS)?$")
REGISTER = re.compile(r"\bR(\d+)")


@dataclasses.dataclass
class Code:
    """Machine code of an image."""
    sm: int
    abi: int
    header_sm: int      # as the file itself says
    log: str            # what ptxas -v has said
    assembly: str = ""  # as nvdisasm prints it; empty: nobody did


def read_code(sm, data, log):
    """From the bytes of the file; see tests/fake_driver/images.cc for its header."""
    abi, flags = data[8], struct.unpack_from("<I", data, 0x30)[0]
    return Code(sm, abi, (flags if abi == 7 else flags >> 8) & 0xff, log)


def bounds_of(ptx):
    """{kernel: (threads of a block, blocks of a processor at least)}"""
    found = re.findall(r"\.entry (\w+)\([^)]*\)\s*\.maxntid (\d+)[^\n]*\n(?:\.minnctapersm (\d+))?", ptx)
    return {name: (int(threads), int(blocks or 1)) for name, threads, blocks in found}


def wrong_ptx(ptx, fences):
    lines = ptx.splitlines()
    for line in PTX_HEADER:
        if line not in lines:
            yield f"the PTX has no line {line}"
    known = set(re.findall(r'asm volatile\("([a-z0-9_.]+) ', fences))
    for access in sorted(set(ORDERED_PTX.findall(ptx)) - known):
        yield f"the PTX has {access}, which fences.h has not"
    for name in sorted(set(re.findall(r"\.entry (\w+)\(", ptx)) - set(bounds_of(ptx))):
        yield f"{name} has no bounds for its launch"


def wrong_resources(code, bounds, ptxas_major):
    wanted = 7 if ptxas_major < 13 and code.sm < 100 else 8
    if code.abi != wanted:
        yield f"the code's ABI is version {code.abi}, not {wanted}"
    if code.header_sm != code.sm:
        yield f"the code is for sm_{code.header_sm}"
    for name, (threads, blocks) in bounds.items():
        used = re.search(rf"entry function '{name}'(?:.|\n)*?Used (\d+) registers", code.log)
        if not used:
            yield f"ptxas has not told the registers of {name}"
        elif blocks * threads * -(-int(used.group(1)) // 8) * 8 > REGISTERS:
            yield f"{name} has {used.group(1)} registers: too many for {blocks} blocks of {threads} threads"
    for stores, loads in re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", code.log):
        if (stores, loads) != ("0", "0"):
            yield f"registers are spilled: {stores} bytes are stored and {loads} are loaded"


def instructions(assembly):
    """[(operation, operands)]; a label is ("", name)"""
    for line in assembly.splitlines():
        found = INSTRUCTION.match(line)
        if found:
            yield found.groups()
        elif line.endswith(":"):
            yield "", line


def wrong_fences(ptx, listing):
    """Ordered accesses are those of the PTX, as many of each, and all are for the whole system."""
    wanted = collections.Counter()
    for access in ORDERED_PTX.findall(ptx):
        wanted.update(MACHINE_CODE.get(access, ()))
    found = collections.Counter(name for name, _ in listing if ORDERED_CODE.match(name))
    for name in sorted(wanted.keys() | found.keys()):
        if wanted[name] != found[name]:
            yield f"{name}: {found[name]} in the code, {wanted[name]} by the PTX"
    for place, (name, _) in enumerate(listing):
        if name == FENCE and next_memory(listing, place + 1) not in RELEASES:
            yield f"{FENCE} is not followed by the store that it is for"


def next_memory(listing, place):
    """The next instruction that reaches memory or ends the stretch."""
    for name, _ in listing[place:]:
        if re.match(r"LD|ST|ATOM|RED|BRA|EXIT|RET|$", name):
            return name
    return ""


def wrong_loads(listing):
    for name, operands in listing:
        if BYPASSES.match(f"{name} {operands}"):
            yield f"{name} does not see what peers write"


def size_of(access):
    size = access.group(2) or "32"
    return int(re.sub(r"\D", "", size)) // 8


def under_way(listing, size):
    """The most global loads of `size` bytes of which nothing is used, in one stretch of code."""
    most, loads, waiting = 0, 0, set()  # waiting: registers that hold what was loaded
    for name, operands in listing:
        access = ACCESS.match(name)
        used = {int(number) for number in REGISTER.findall(operands)}
        if name in ("", "BRA", "EXIT"):
            loads, waiting = 0, set()
        elif access and name.startswith("LDG") and size_of(access) == size:
            target = int(REGISTER.search(operands).group(1))
            loads += 1
            waiting |= set(range(target, target + max(1, size // 4)))
            most = max(most, loads)
        elif used & waiting:
            loads, waiting = 0, set()
    return most


def wrong_widths(kernel, listing):
    element, group = WIDE[kernel]
    for size, wanted in ((16, group), (element, SINGLES)):
        stores = [name for name, _ in listing
                  if name.startswith("STG") and ACCESS.match(name) and size_of(ACCESS.match(name)) == size]
        if not stores:
            yield f"{kernel}: nothing stores {size} bytes at once"
        most = under_way(listing, size)
        if most < wanted:
            yield f"{kernel}: {most} loads of {size} bytes are under way at once, not {wanted}"


def kernels_of(assembly):
    """{kernel: its part of the assembly}"""
    parts = re.split(r"^\.text\.(\w+):$", assembly, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def wrong_code(code, ptx, bounds, ptxas_major):
    yield from wrong_resources(code, bounds, ptxas_major)
    if not code.assembly:
        return
    parts = kernels_of(code.assembly)
    for name in sorted(bounds.keys() - parts.keys()):
        yield f"{name} has no code"
    listing = list(instructions(code.assembly))
    yield from wrong_fences(ptx, listing)
    yield from wrong_loads(listing)
    for name in sorted(WIDE.keys() & parts.keys()):
        yield from wrong_widths(name, list(instructions(parts[name])))


def complaints(ptx, codes, fences, ptxas_major):
    yield from wrong_ptx(ptx, fences)
    bounds = bounds_of(ptx)
    for code in codes:
        for complaint in wrong_code(code, ptx, bounds, ptxas_major):
            yield f"sm_{code.sm}: {complaint}"
