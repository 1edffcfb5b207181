#!/usr/bin/python3
"""Adds up one run of `bazel test`: which cases passed, failed and were skipped, and why.

Reads the run's build event file (--build_event_json_file) and the test.xml files that it names, so that nothing of an
earlier run counts. Usage: test_totals.py EVENTS.json BAZEL_EXIT_STATUS
The last line is always 'N passed, N failed, N skipped'; the exit status is 0 if none failed and Bazel was content.
"""
import json
import os
import re
import sys
import urllib.parse
import xml.etree.ElementTree as ET

# GoogleTest's messages begin with FILE:LINE.
SOURCE_LINE = re.compile(r"^\S+\.(cc|h|cu):\d+$")


class Totals:
    """Cases by outcome; failed and skipped ones with a line that says which and why."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def last_line(self):
        return "%d passed, %d failed, %d skipped" % (self.passed, len(self.failed), len(self.skipped))


def read_events(path):
    """The events of one run. A run that was killed leaves a half-written last line, which is dropped."""
    events = []
    if not os.path.exists(path):
        return events
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                events.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return events


def skip_reason(case):
    """Why a case did not run, or None if it ran."""
    skipped = case.find("skipped")
    if skipped is not None:
        lines = (skipped.get("message") or skipped.text or "").strip().splitlines()
        if lines and SOURCE_LINE.match(lines[0]):
            lines = lines[1:]
        return " ".join(line.strip() for line in lines if line.strip()) or "no reason given"
    if case.get("status") == "notrun":
        return "disabled"
    return None


def case_name(label, case):
    """The label and, unless the target is one single case, the case's name."""
    names = [part for part in (case.get("classname"), case.get("name")) if part]
    if names == [label.lstrip("/").replace(":", "/")]:
        return label
    return "%s: %s" % (label, ".".join(names))


def add_cases(totals, label, path):
    """Adds the cases of one test.xml. Returns how many failed, or None if the file tells nothing."""
    try:
        cases = list(ET.parse(path).getroot().iter("testcase"))
    except (OSError, ET.ParseError):
        return None
    failures = 0
    for case in cases:
        reason = skip_reason(case)
        error = case.find("error")
        if error is not None:
            totals.failed.append("%s: %s" % (case_name(label, case), error.get("message") or "error"))
            failures += 1
        elif case.find("failure") is not None:
            totals.failed.append(case_name(label, case))
            failures += 1
        elif reason is not None:
            totals.skipped.append("%s: %s" % (case_name(label, case), reason))
        else:
            totals.passed += 1
    return failures


def add_result(totals, label, result):
    """Adds one test action: a target, a shard of it or one of several runs."""
    status = result.get("status", "NO_STATUS")
    failures = None
    for output in result.get("testActionOutput", []):
        if output["name"] == "test.xml":
            failures = add_cases(totals, label, urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path))
    if status == "PASSED":
        if failures is None:
            totals.passed += 1
    elif not failures:
        # It crashed, timed out or failed after its last case: no case tells.
        totals.failed.append("%s: %s" % (label, status.lower().replace("_", " ")))


def last_attempts(events):
    """{(label, shard, run): result} of the last attempt of each test action."""
    results = {}
    for event in events:
        key = event.get("id", {}).get("testResult")
        if key and "testResult" in event:
            slot = (key["label"], key.get("shard", 0), key.get("run", 0))
            if slot not in results or key.get("attempt", 0) >= results[slot][0]:
                results[slot] = (key.get("attempt", 0), event["testResult"])
    return {slot: result for slot, (_, result) in results.items()}


def add_unbuilt(totals, events, ran):
    """Adds targets that could not be built, and tests that this machine cannot build at all."""
    seen = set(ran)
    for event in events:
        key = event.get("id", {})
        kinds = ("targetCompleted", "unconfiguredLabel", "configuredLabel")
        label = next((key[kind].get("label") for kind in kinds if kind in key), None)
        if not label or label in seen:
            continue
        aborted = event.get("aborted")
        if aborted and aborted.get("reason") == "SKIPPED":
            if label.endswith("_test"):
                seen.add(label)
                totals.skipped.append("%s: not for this build (it needs CUDA)" % label)
        elif aborted or ("completed" in event and not event["completed"].get("success")):
            seen.add(label)
            totals.failed.append("%s: does not build" % label)


def add_up(events, bazel_status):
    totals = Totals()
    results = last_attempts(events)
    for (label, _, _), result in sorted(results.items()):
        add_result(totals, label, result)
    add_unbuilt(totals, events, {label for label, _, _ in results})
    if bazel_status and not totals.failed:
        totals.failed.append("bazel ended with status %d" % bazel_status)
    return totals


def main():
    totals = add_up(read_events(sys.argv[1]), int(sys.argv[2]))
    for line in totals.skipped:
        print("skipped: " + line)
    for line in totals.failed:
        print("failed: " + line)
    print(totals.last_line())
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
