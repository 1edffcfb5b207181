"""Rules about one file's text: sizes, lengths, unfinished work, skips without a reason, header guards."""
import os
import re

MAX_BYTES = 1 << 20
MAX_LINES = 400
MAX_FUNCTION_LINES = 60

CPP = (".h", ".cc", ".cu", ".cuh", ".inc")
CODE = CPP + (".py", ".sh", ".bzl")

# Written in two halves, so that this file passes its own rule.
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
SKIP = re.compile(r"\bGTEST_SKIP\(\)\s*(;|$)")
CPU_FLAG = re.compile(r'"-m(arch=|avx|fma|sse)[^"]*"')
NOT_A_FUNCTION = re.compile(r"^\s*(namespace|class|struct|enum|union|extern|if|for|while|switch|do|else|try|catch)\b")


def statement_start(lines, index):
    """Index of the first line of the statement that lines[index] ends: a declaration may take several lines."""
    while index > 0:
        before = lines[index - 1].strip()
        if not before or before.endswith((";", "{", "}", ":")) or before.startswith(("#", "//")):
            break
        index -= 1
    return index


def long_functions(lines):
    """[(line number, lines)] of C++ functions that are too long, found by clang-format's indentation."""
    found, start, end = [], None, ""
    for index, line in enumerate(lines):
        if start is None:
            first = statement_start(lines, index) if line.endswith("{") else index
            if line.endswith("{") and "(" in "".join(lines[first:index + 1]) and not NOT_A_FUNCTION.match(lines[first]):
                start = index
                end = lines[first][: len(lines[first]) - len(lines[first].lstrip())] + "}"
        elif line.rstrip(";") == end:
            if index - start - 1 > MAX_FUNCTION_LINES:
                found.append((start + 1, index - start - 1))
            start = None
    return found


def check_cpp(path, lines):
    errors = []
    for number, line in enumerate(lines, 1):
        if SKIP.search(line):
            errors.append("%s:%d: GTEST_SKIP() without a reason (<< \"why\")" % (path, number))
    if path.endswith((".h", ".cuh")) and "#pragma once" not in lines:
        errors.append("%s:1: header without #pragma once" % path)
    warnings = ["%s:%d: function of %d lines; split at %d" % (path, number, length, MAX_FUNCTION_LINES)
                for number, length in long_functions(lines)]
    return errors, warnings


def check_build(path, lines):
    """Flags for a newer CPU would leak into code that every CPU runs: Note [Symbols of one CPU level]."""
    return ["%s:%d: %s outside tm_simd_library" % (path, number, match.group())
            for number, line in enumerate(lines, 1) for match in [CPU_FLAG.search(line)] if match]


def is_code(path, content):
    return path.endswith(CODE) or os.path.basename(path) == "BUILD" or content.startswith("#!")


def check_file(path):
    """(errors, warnings) of one file, as lines to print."""
    size = os.path.getsize(path)
    if size >= MAX_BYTES:
        return ["%s:1: %d bytes; no file may have 1 MiB" % (path, size)], []
    try:
        with open(path, encoding="utf-8") as file:
            content = file.read()
    except UnicodeDecodeError:
        return [], []
    if not is_code(path, content):
        return [], []
    lines = content.split("\n")
    errors = ["%s:%d: unfinished work: %s" % (path, number, match.group())
              for number, line in enumerate(lines, 1) for match in [UNFINISHED.search(line)] if match]
    if len(lines) - 1 > MAX_LINES:
        errors.append("%s:1: %d lines; split at %d" % (path, len(lines) - 1, MAX_LINES))
    if os.path.basename(path) == "BUILD":
        errors += check_build(path, lines)
    if not path.endswith(CPP):
        return errors, []
    found, warnings = check_cpp(path, lines)
    return errors + found, warnings
