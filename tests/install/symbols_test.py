#!/usr/bin/env python3
"""symbols.py accepts a library that has what is listed, and complains about every other one."""

import unittest

import symbols

HEADERS = """
#define RONDO_VERSION_MAJOR 0
#define RONDO_VERSION_MINOR 3
struct Options {
class Group final : public Base {
  void wait();
class Elsewhere;
const char* version();
"""
LISTED = "rondo::Group::wait()\nrondo::version()\ntypeinfo for rondo::Group"
EXPORTED = {"rondo::version()": "T", "rondo::Group::wait()": "T", "typeinfo for rondo::Group": "V",
            "rondo::Options::~Options()": "W", "rondo::inner::version()": "T", "rondo::Elsewhere::go()": "T",
            "rondo::wait()": "T", **{symbol: "T" for symbol in symbols.INTERNAL}}


class SymbolsTest(unittest.TestCase):
    def complaints(self, listed=LISTED, exported=EXPORTED):
        return list(symbols.complaints(listed, exported, HEADERS))

    def test_what_is_listed_and_no_more_is_right(self):
        self.assertEqual(self.complaints(), [])

    def test_each_symbol_that_is_gone_is_named(self):
        for symbol in LISTED.splitlines():
            others = {name: kind for name, kind in EXPORTED.items() if name != symbol}
            found = self.complaints(exported=others)
            self.assertEqual(len(found), 1)
            self.assertTrue(found[0].startswith(symbol + "\n"))

    def test_other_arguments_are_another_function(self):
        others = {name.replace("version()", "version(int)"): kind for name, kind in EXPORTED.items()}
        self.assertEqual(len(self.complaints(exported=others)), 2)

    def test_each_public_symbol_has_to_be_listed(self):
        for symbol in LISTED.splitlines():
            listed = "\n".join(name for name in LISTED.splitlines() if name != symbol)
            self.assertEqual(len(self.complaints(listed)), 1)

    def test_the_list_is_sorted(self):
        self.assertEqual(len(self.complaints("\n".join(reversed(LISTED.splitlines())))), 1)

    def test_the_soname_has_the_minor_version_before_1(self):
        self.assertEqual(symbols.soname_of(HEADERS), "librondo.so.0.3")
        self.assertEqual(symbols.soname_of(HEADERS.replace("MAJOR 0", "MAJOR 2")), "librondo.so.2")


if __name__ == "__main__":
    unittest.main()
