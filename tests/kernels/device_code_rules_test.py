#!/usr/bin/env python3
"""The rules of device_code.py find what they are for: good code, and faults put into it."""

import pathlib
import struct
import unittest

import device_code

FENCES = pathlib.Path(__file__).parents[2].joinpath("kernels/device/fences.h").read_text()
HEAD = ".version 7.7\n.target sm_75\n.address_size 64\n"


def entry(name, body=""):
    return (f".visible .entry {name}(\n\t.param .b8 p[8]\n)\n.maxntid 256, 1, 1\n.minnctapersm 2\n"
            f"{{\n{body}}}\n")


def assembly(name, lines):
    return f".text.{name}:\n" + "".join(f"        /*{16 * i:04x}*/                   {line} ;\n"
                                        for i, line in enumerate(lines))


def words(name, registers=128, spilled=0):
    return (f"ptxas info    : Compiling entry function '{name}' for 'sm_90'\n"
            f"    0 bytes stack frame, {spilled} bytes spill stores, {spilled} bytes spill loads\n"
            f"ptxas info    : Used {registers} registers, used 0 barriers\n")


# Four loads of 16 bytes, then eight of 4, which combine into stores.
COMBINE = "rondo_combine_float32"
COMBINE_LINES = [f"LDG.E.128 R{16 + 4 * i}, desc[UR8][R2.64]" for i in range(4)] + [
    "FADD R16, R16, R20", "STG.E.128 desc[UR8][R4.64], R16", "BRA `(.L_x_1)"] + [
    f"LDG.E R{16 + i}, desc[UR8][R2.64]" for i in range(8)] + [
    "FADD R16, R16, R17", "STG.E desc[UR8][R4.64], R16", "EXIT"]
# A release, an acquire, and packets.
CALL = "rondo_program"
CALL_PTX = """\tst.release.sys.global.u64 [%rd1], %rd2;
\tld.acquire.sys.global.u64 %rd3, [%rd1];
\tld.relaxed.sys.global.v2.u64 {%rd4, %rd5}, [%rd6];
"""
CALL_LINES = ["ST.E.64 desc[UR4][R4.64], R6", "MEMBAR.ALL.SYS", "ERRBAR", "CGAERRBAR",
              "STG.E.64.STRONG.SYS desc[UR4][R8.64], R6", "@P0 LDG.E.64.STRONG.SYS R2, desc[UR4][R8.64]",
              "CCTL.IVALL", "LDG.E.128.STRONG.SYS R8, desc[UR4][R12.64]", "LDC.64 R8, c[0x0][R5+0x210]",
              "LD.E.64 R10, desc[UR4][R12.64]", "EXIT"]


class Rules(unittest.TestCase):
    def complaints(self, name, lines, body="", ptx=None, log=None, **header):
        code = device_code.Code(**{"sm": 90, "abi": 7, "header_sm": 90, **header}, log=log or words(name),
                                assembly=assembly(name, lines))
        return list(device_code.complaints(ptx or HEAD + entry(name, body), [code], FENCES, 12))

    def combine(self, change=lambda lines: lines, **given):
        return self.complaints(COMBINE, change(list(COMBINE_LINES)), **given)

    def call(self, change=lambda lines: lines, body=CALL_PTX, **given):
        return self.complaints(CALL, change(list(CALL_LINES)), body, **given)

    def expect(self, found, part):
        self.assertTrue(any(part in line for line in found), f"{part}: not among {found}")

    def test_good_code_is_good(self):
        self.assertEqual(self.combine(), [])
        self.assertEqual(self.call(), [])

    def test_the_ptx_is_for_old_drivers_and_devices(self):
        self.expect(self.combine(ptx=HEAD.replace("7.7", "9.0") + entry(COMBINE)), "no line .version 7.7")
        self.expect(self.combine(ptx=HEAD.replace("75", "90") + entry(COMBINE)), "no line .target sm_75")

    def test_the_abi_is_the_one_that_drivers_of_cuda_12_know(self):
        self.expect(self.combine(abi=8), "ABI is version 8, not 7")
        self.expect(self.combine(header_sm=80), "the code is for sm_80")
        header = bytearray(64)
        header[8] = 7
        struct.pack_into("<I", header, 0x30, 0x4B055A)
        self.assertEqual(device_code.read_code(90, bytes(header), "").header_sm, 90)
        header[8] = 8
        struct.pack_into("<I", header, 0x30, 0x6006402)
        self.assertEqual(device_code.read_code(100, bytes(header), "").header_sm, 100)

    def test_registers_are_within_the_bounds_and_not_spilled(self):
        self.expect(self.combine(log=words(COMBINE, registers=129)), "129 registers: too many")
        self.expect(self.combine(log=words(COMBINE, spilled=20)), "20 bytes are stored")
        self.expect(self.combine(log=words("another")), "has not told the registers")
        unbound = (HEAD + entry(COMBINE)).replace(".maxntid 256, 1, 1\n", "")
        self.expect(self.combine(ptx=unbound), "no bounds for its launch")

    def test_loads_and_stores_are_wide(self):
        narrow = self.combine(lambda lines: [line.replace(".128", ".64") for line in lines])
        self.expect(narrow, "nothing stores 16 bytes")
        self.expect(narrow, "0 loads of 16 bytes")

    def test_loads_are_under_way_together(self):
        def use_early(lines):
            return lines[:1] + ["FADD R3, R17, R3"] + lines[1:]
        self.expect(self.combine(use_early), "3 loads of 16 bytes are under way at once, not 4")

        def leave_early(lines):
            return lines[:10] + ["BRA `(.L_x_2)"] + lines[10:]
        self.expect(self.combine(leave_early), "5 loads of 4 bytes are under way at once, not 8")

    def test_a_kernel_that_waits_for_nobody_has_no_fence(self):
        self.expect(self.combine(lambda lines: lines + ["MEMBAR.SC.GPU"]), "MEMBAR.SC.GPU: 1 in the code, 0")
        self.expect(self.combine(body="\tmembar.sys;\n"), "has membar.sys, which fences.h has not")

    def test_each_release_and_acquire_is_in_the_code(self):
        self.expect(self.call(lambda lines: [l for l in lines if l != "MEMBAR.ALL.SYS"]),
                    "MEMBAR.ALL.SYS: 0 in the code, 1")
        self.expect(self.call(lambda lines: [l for l in lines if l != "CCTL.IVALL"]),
                    "CCTL.IVALL: 0 in the code, 1")
        self.expect(self.call(lambda lines: [l.replace("128.STRONG.SYS", "128") for l in lines]),
                    "LDG.E.128.STRONG.SYS: 0 in the code, 1")

    def test_fences_are_for_the_whole_system(self):
        self.expect(self.call(lambda lines: [l.replace("ALL.SYS", "ALL.GPU") for l in lines]),
                    "MEMBAR.ALL.GPU: 1 in the code, 0")
        self.expect(self.call(lambda lines: [l.replace("STRONG.SYS", "STRONG.GPU") for l in lines]),
                    "STG.E.64.STRONG.GPU: 1 in the code, 0")
        self.expect(self.call(body=CALL_PTX.replace("release.sys", "release.gpu")),
                    "st.release.gpu.global.u64, which fences.h has not")

    def test_a_fence_stands_before_the_store_that_it_is_for(self):
        def after(lines):
            return [lines[0], lines[4], *lines[1:4], *lines[5:]]
        self.expect(self.call(after), "not followed by the store")

    def test_no_load_passes_by_what_peers_write(self):
        for line in ("LDG.E.64.CONSTANT R2, desc[UR4][R8.64]", "LDC.64 R8, cx[UR6][R5]"):
            self.expect(self.call(lambda lines, line=line: lines + [line]), "does not see what peers write")
        self.expect(self.call(body=CALL_PTX + "\tld.global.nc.u64 %rd1, [%rd2];\n"),
                    "ld.global.nc.u64, which fences.h has not")


if __name__ == "__main__":
    unittest.main()
