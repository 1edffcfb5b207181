#!/usr/bin/python3
"""Tests of tools/lint_rules: each rule finds its fault, and passes good files."""
import os
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lint_rules import arrows, formatting, text

UNFINISHED = "TO" + "DO"


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def write(self, path, content):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as out:
            out.write(content)
        return path


class TextTest(InFolder):
    def errors(self, path, content):
        return text.check_file(self.write(path, content))[0]

    def test_good_header_passes(self):
        self.assertEqual(text.check_file(self.write("a.h", "#pragma once\nint f();\n")), ([], []))

    def test_header_guard(self):
        self.assertEqual(self.errors("a.h", "int f();\n"), ["a.h:1: header without #pragma once"])

    def test_unfinished_work(self):
        self.assertEqual(self.errors("a.cc", "\n// %s: later\n" % UNFINISHED), ["a.cc:2: unfinished work: " + UNFINISHED])
        self.assertEqual(self.errors("b.cc", "int %sS = 1;\n" % UNFINISHED), [])

    def test_skip_needs_a_reason(self):
        self.assertEqual(len(self.errors("a.cc", "  GTEST_SKIP();\n")), 1)
        self.assertEqual(self.errors("a.cc", '  GTEST_SKIP() << "no GPU";\n'), [])

    def test_length(self):
        self.assertEqual(self.errors("a.py", "x = 1\n" * 400), [])
        self.assertEqual(self.errors("a.py", "x = 1\n" * 401), ["a.py:1: 401 lines; split at 400"])
        self.assertEqual(self.errors("a.inc", "int x;\n" * 401), ["a.inc:1: 401 lines; split at 400"])
        self.assertEqual(self.errors("data.csv", "1,2\n" * 5000), [])

    def test_cpu_flags_need_their_rule(self):
        self.assertEqual(self.errors("x/BUILD", 'copts = ["-O3", "-mavx2"],\n'), ['x/BUILD:1: "-mavx2" outside tm_simd_library'])
        self.assertEqual(self.errors("x/BUILD", 'copts = ["-O3"],\n'), [])

    def test_size(self):
        self.assertEqual(len(self.errors("a.bin", "x" * (1 << 20))), 1)

    def test_long_function_warns(self):
        body = "  Step();\n"
        self.assertEqual(text.check_file(self.write("a.cc", "void F() {\n" + body * 60 + "}\n"))[1], [])
        self.assertEqual(text.check_file(self.write("a.cc", "namespace n {\n\nvoid F() {\n" + body * 61 + "}\n}\n"))[1],
                         ["a.cc:3: function of 61 lines; split at 60"])

    def test_declarations_of_several_lines(self):
        short = "  C(int a,\n    int b)\n      : a_(a),\n        b_(b) {\n    Step();\n  }\n"
        lines = ("class C {\n public:\n" + short * 30 + "};\n").split("\n")
        self.assertEqual(text.long_functions(lines), [])
        long = "void F(int a,\n       int b) {\n  if (a) {\n    b();\n  }\n" + "  Step();\n" * 60 + "}\n"
        self.assertEqual(text.long_functions(long.split("\n")), [(2, 63)])

    def test_scripts_without_an_ending_are_code(self):
        self.assertEqual(len(self.errors("run", "#!/bin/bash\n# %s\n" % UNFINISHED)), 1)


class ArrowsTest(InFolder):
    def check(self, **files):
        return arrows.check_files([self.write(path.replace("__", "/") + ".h", text) for path, text in files.items()])

    def errors(self, **files):
        return self.check(**files)[0]

    def test_arrows_down_pass(self):
        self.assertEqual(self.errors(framework__run__a='#include "memory/arena/b.h"\n#include <vector>\n',
                                     memory__arena__b='#include "base/error.h"\n'), [])

    def test_arrow_up_fails(self):
        self.assertEqual(self.errors(base__a='\n#include "memory/b.h"\n'),
                         ["base/a.h:2: base/ may not include memory/ (it uses nothing of ours)"])

    def test_memory_and_graph_never_meet(self):
        self.assertEqual(len(self.errors(memory__a='#include "graph/b.h"\n')), 1)
        self.assertEqual(len(self.errors(graph__a='#include "memory/b.h"\n')), 1)

    def test_relative_and_unknown_paths_fail(self):
        self.assertEqual(len(self.errors(memory__a='#include "b.h"\n')), 1)
        self.assertEqual(len(self.errors(memory__a='#include "cellar/b.h"\n')), 1)

    def test_ring_of_folders_warns(self):
        _, warnings = self.check(memory__a__x='#include "memory/b/y.h"\n', memory__b__y='#include "memory/c/z.h"\n',
                                 memory__c__z='#include "memory/a/w.h"\n')
        self.assertEqual(warnings, ["memory/a: folders include each other in a ring: memory/a -> memory/b -> memory/c -> memory/a"])

    def test_lists_of_a_room_may_close_a_ring(self):
        self.assertEqual(self.check(ops__all='#include "ops/add/add.h"\n', ops__add__add='#include "ops/kernel.h"\n'), ([], []))

    def test_tests_may_close_a_ring(self):
        self.write("memory/b/y_test.cc", '#include "memory/a/x.h"\n')
        self.write("memory/a/x.h", '#include "memory/b/y.h"\n')
        self.assertEqual(arrows.check_files(["memory/a/x.h", "memory/b/y_test.cc"]), ([], []))


class FormattingTest(InFolder):
    def setUp(self):
        super().setUp()
        if not shutil.which("clang-format"):
            self.skipTest("no clang-format")
        self.write(".clang-format", "BasedOnStyle: Google\n")

    def test_faults_are_found_and_fixed(self):
        path = self.write("a.cc", "int  f( ) ;\n")
        errors, _ = formatting.check_files([path], fix=False)
        self.assertEqual(len(errors), 1)
        self.assertTrue(errors[0].startswith("a.cc:1:4:"), errors)
        self.assertEqual(formatting.check_files([path], fix=True), ([], []))
        with open(path) as file:
            self.assertEqual(file.read(), "int f();\n")


if __name__ == "__main__":
    unittest.main()
