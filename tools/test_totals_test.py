#!/usr/bin/python3
"""Tests of test_totals.py on small made-up runs."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_totals

GTEST_XML = """<testsuites><testsuite name="Arena">
  <testcase name="Fits" classname="Arena" status="run" result="completed"/>
  <testcase name="Grows" classname="Arena" status="run" result="completed"><failure message="wrong"/></testcase>
  <testcase name="OnGpu" classname="Arena" status="run" result="skipped"><skipped message="a/b_test.cc:7&#x0A;no GPU"/></testcase>
  <testcase name="Bare" classname="Arena" status="run" result="skipped"><skipped message="a/b_test.cc:8&#x0A;"/></testcase>
  <testcase name="DISABLED_Old" classname="Arena" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""
PASSING_XML = '<testsuites><testsuite><testcase name="A" classname="S" status="run"/></testsuite></testsuites>'
SHELL_FAILURE_XML = """<testsuites><testsuite name="x/run_test">
  <testcase name="x/run_test" status="run"><error message="exited with error code 3"></error></testcase>
</testsuite></testsuites>"""


class TestTotalsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def result(self, label, status, xml=None, shard=1, attempt=1):
        outputs = []
        if xml is not None:
            path = os.path.join(self.folder.name, "%d %d test.xml" % (len(os.listdir(self.folder.name)), shard))
            with open(path, "w") as out:
                out.write(xml)
            outputs = [{"name": "test.xml", "uri": "file://" + path.replace(" ", "%20")}]
        key = {"label": label, "run": 1, "shard": shard, "attempt": attempt}
        return {"id": {"testResult": key}, "testResult": {"status": status, "testActionOutput": outputs}}

    def test_cases_are_counted_by_outcome(self):
        totals = test_totals.add_up([self.result("//a:b_test", "FAILED", GTEST_XML)], 3)
        self.assertEqual(totals.last_line(), "1 passed, 1 failed, 3 skipped")
        self.assertEqual(totals.failed, ["//a:b_test: Arena.Grows"])

    def test_skips_carry_their_reason(self):
        totals = test_totals.add_up([self.result("//a:b_test", "FAILED", GTEST_XML)], 3)
        self.assertEqual(totals.skipped, [
            "//a:b_test: Arena.OnGpu: no GPU",
            "//a:b_test: Arena.Bare: no reason given",
            "//a:b_test: Arena.DISABLED_Old: disabled",
        ])

    def test_shell_test_counts_one(self):
        totals = test_totals.add_up([self.result("//x:run_test", "FAILED", SHELL_FAILURE_XML)], 3)
        self.assertEqual(totals.failed, ["//x:run_test: exited with error code 3"])

    def test_failure_after_the_last_case_counts(self):
        totals = test_totals.add_up([self.result("//x:leak_test", "FAILED", PASSING_XML)], 3)
        self.assertEqual(totals.last_line(), "1 passed, 1 failed, 0 skipped")

    def test_timeout_without_xml_counts(self):
        totals = test_totals.add_up([self.result("//x:long_test", "TIMEOUT")], 3)
        self.assertEqual(totals.failed, ["//x:long_test: timeout"])

    def test_shards_add_up_and_only_the_last_attempt_counts(self):
        events = [
            self.result("//x:s_test", "PASSED", PASSING_XML, shard=1),
            self.result("//x:s_test", "FAILED", GTEST_XML, shard=2, attempt=1),
            self.result("//x:s_test", "PASSED", PASSING_XML, shard=2, attempt=2),
        ]
        self.assertEqual(test_totals.add_up(events, 0).last_line(), "2 passed, 0 failed, 0 skipped")

    def test_target_that_does_not_build_fails(self):
        events = [
            {"id": {"targetCompleted": {"label": "//x:broken"}}, "completed": {}},
            {"id": {"targetCompleted": {"label": "//x:fine"}}, "completed": {"success": True}},
        ]
        self.assertEqual(test_totals.add_up(events, 1).failed, ["//x:broken: does not build"])

    def test_failed_test_is_not_counted_twice(self):
        events = [
            self.result("//x:run_test", "FAILED", SHELL_FAILURE_XML),
            {"id": {"targetCompleted": {"label": "//x:run_test"}}, "completed": {}},
        ]
        self.assertEqual(test_totals.add_up(events, 3).last_line(), "0 passed, 1 failed, 0 skipped")

    def test_incompatible_test_is_skipped_and_library_is_not_counted(self):
        events = [
            {"id": {"targetCompleted": {"label": "//g:gpu_test"}}, "aborted": {"reason": "SKIPPED"}},
            {"id": {"targetCompleted": {"label": "//g:kernels"}}, "aborted": {"reason": "SKIPPED"}},
        ]
        self.assertEqual(test_totals.add_up(events, 0).last_line(), "0 passed, 0 failed, 1 skipped")

    def test_silent_bazel_failure_fails(self):
        self.assertEqual(test_totals.add_up([], 8).failed, ["bazel ended with status 8"])

    def test_half_written_events_are_read(self):
        path = os.path.join(self.folder.name, "events.json")
        with open(path, "w") as out:
            out.write(json.dumps(self.result("//x:t_test", "PASSED", PASSING_XML)) + '\n{"id": {"testRes')
        totals = test_totals.add_up(test_totals.read_events(path), 0)
        self.assertEqual(totals.last_line(), "1 passed, 0 failed, 0 skipped")

    def test_missing_events_are_a_failure(self):
        totals = test_totals.add_up(test_totals.read_events("/nonexistent"), 2)
        self.assertEqual(totals.last_line(), "0 passed, 1 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
