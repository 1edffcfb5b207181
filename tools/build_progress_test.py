#!/usr/bin/python3
"""Tests of build_progress.py on the output of made-up builds."""
import io
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


GOOD = ["Starting local Bazel server and connecting to it...\n", "Loading: \n", "[12 / 1,345] Compiling a.cc; 3s\n",
        "INFO: Build completed successfully\n", "exit=0\n"]
BAD = ["Analyzing: 3 targets\n", "ERROR: a/BUILD:3:1: failed\n", "a.cc:1:2: error: no\n", "[1 / 2] x\n", "exit=1\n"]


class BuildProgressTest(unittest.TestCase):
    def test_good_build_keeps_nothing(self):
        out = io.StringIO()
        self.assertEqual(build_progress.follow(GOOD, build_progress.Progress("train", out)), (0, []))
        self.assertEqual(out.getvalue(), "")

    def test_terminal_shows_one_line_and_clears_it(self):
        out = Terminal()
        build_progress.follow(GOOD, build_progress.Progress("train", out))
        self.assertIn("train: building, 12 of 1,345", out.getvalue())
        self.assertNotIn("\n", out.getvalue())
        self.assertTrue(out.getvalue().endswith("\r\x1b[K"))

    def test_errors_are_kept_in_full(self):
        status, kept = build_progress.follow(BAD, build_progress.Progress("train", io.StringIO()))
        self.assertEqual((status, kept), (1, BAD[1:3]))

    def test_missing_status_is_a_failure(self):
        self.assertEqual(build_progress.follow(GOOD[:-1], build_progress.Progress("train", io.StringIO()))[0], 1)


if __name__ == "__main__":
    unittest.main()
