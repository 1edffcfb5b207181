#!/usr/bin/python3
"""Reads what `bazel build` says; shows one line that is overwritten, on a terminal only, and errors in full.

Usage: (bazel build ... 2>&1; echo "exit=$?") | build_progress.py WHAT
The last line, exit=N, is Bazel's own status, which becomes this program's.
"""
import re
import sys
import time

STEP = re.compile(r"^\[([\d,]+) / ([\d,]+)\]")
CHATTER = re.compile(
    r"^(Loading:|Analyzing:|INFO:|DEBUG:|    currently |Starting local Bazel|Target .* up-to-date:|  bazel-bin/|\s*$|\$ )")
WAITING = re.compile(r"^Another command .* is running")


QUIET_SECONDS = 20  # without a terminal: a line so often, so that a long build does not look like a hang


class Progress:
    """One line on `stream`, rewritten in place."""

    def __init__(self, what, stream):
        self.what = what
        self.stream = stream
        self.shown = False
        self.told = time.monotonic()

    def show(self, text):
        if self.stream.isatty():
            self.stream.write("\r\x1b[K%s: %s" % (self.what, text))
            self.stream.flush()
            self.shown = True
        elif time.monotonic() - self.told >= QUIET_SECONDS:
            self.told = time.monotonic()
            self.stream.write("%s: building, %s\n" % (self.what, text))
            self.stream.flush()

    def clear(self):
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def follow(lines, progress):
    """(exit status, lines worth keeping) of one build; shows how far it is meanwhile."""
    kept, status = [], 1
    for line in lines:
        step = STEP.match(line)
        if line.startswith("exit="):
            status = int(line[len("exit="):])
        elif step:
            progress.show("building, %s of %s" % step.groups())
        elif WAITING.match(line):
            progress.show("waiting for another build to end")
        elif CHATTER.match(line):
            progress.show("building")
        else:
            kept.append(line)
    progress.clear()
    return status, kept


def main():
    status, kept = follow(sys.stdin, Progress(sys.argv[1], sys.stderr))
    if status:
        sys.stderr.writelines(kept)
        sys.stderr.write("%s: the build failed\n" % sys.argv[1])
    return status


if __name__ == "__main__":
    sys.exit(main())
