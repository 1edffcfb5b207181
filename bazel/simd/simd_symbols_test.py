#!/usr/bin/python3
"""Checks the objects of a tm_simd_library: only symbols of the level's own namespace may be visible to the linker."""
import re
import subprocess
import sys
import unittest

OBJECTS = []

# const float& std::max<float>(const float&, const float&)
STD_MAX = "_ZSt3maxIfERKT_S2_S2_"


def symbol_lines(path, *flags):
    """The defined symbols, each as 'TYPE NAME'; a small letter is a local symbol, W a weak one."""
    out = subprocess.run(["nm", "--defined-only", *flags, path], check=True, capture_output=True, text=True).stdout
    return [line.split(maxsplit=1)[1] for line in out.splitlines() if line.strip()]


def level_of(path):
    return re.search(r"/(v[234])/", path).group(1)


class SimdSymbolsTest(unittest.TestCase):
    def test_all_levels_are_there(self):
        self.assertEqual(sorted(level_of(path) for path in OBJECTS), ["v2", "v3", "v4"])

    def test_only_the_levels_namespace_is_global(self):
        for path in OBJECTS:
            symbols = symbol_lines(path, "--extern-only")
            self.assertTrue(symbols, path)
            strangers = [name for name in symbols if "6isa_" + level_of(path) not in name]
            self.assertEqual(strangers, [], path)

    def test_weak_function_of_the_standard_library_is_there_and_local(self):
        for path in OBJECTS:
            self.assertIn("t " + STD_MAX, symbol_lines(path), path)

    def test_no_comdat_group_is_left(self):
        for path in OBJECTS:
            out = subprocess.run(["readelf", "--section-groups", path], check=True, capture_output=True, text=True)
            self.assertIn("no section groups", out.stdout, path)


if __name__ == "__main__":
    OBJECTS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
