#!/usr/bin/python3
"""Writes compile_commands.json for clangd and clang-tidy. Usage: tools/compile_commands.py [TARGETS] [BAZEL FLAGS]"""
import json
import os
import subprocess
import sys

# clang knows none of these.
GCC_ONLY = {"-fno-canonical-system-headers", "-fno-gnu-unique",
            "-Wunused-but-set-parameter", "-Wno-free-nonheap-object",
            "-Wno-maybe-uninitialized", "-Wno-restrict", "-Wno-stringop-overflow", "-Wno-stringop-overread"}


def bazel(root, *args):
    return subprocess.run(["bazel", *args], cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout


def compile_actions(root, targets, flags):
    """The argument lists of all C++ compilations."""
    query = 'mnemonic("CppCompile", deps(%s))' % " + ".join(targets)
    out = bazel(root, "aquery", "--noshow_progress", "--output=jsonproto", *flags, query)
    return [action["arguments"] for action in json.loads(out).get("actions", [])]


def commands(root, output_base, actions):
    """One entry a source of ours. Of the kernels compiled for several CPU levels the last, which is the richest."""
    entries = {}
    for arguments in actions:
        if "-c" not in arguments:
            continue
        source = arguments[arguments.index("-c") + 1]
        if source.startswith(("external/", "bazel-out/")):
            continue
        # Paths hold from the workspace, whose bazel-out link resolves; external/ lies in the output base.
        kept = [os.path.join(output_base, arg) if arg.startswith("external/") else arg
                for arg in arguments if arg not in GCC_ONLY]
        entries[source] = {"directory": root, "file": os.path.join(root, source), "arguments": kept}
    return [entries[source] for source in sorted(entries)]


def main():
    args = sys.argv[1:]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    targets = [arg for arg in args if not arg.startswith("-")] or ["//..."]
    actions = compile_actions(root, targets, [arg for arg in args if arg.startswith("-")])
    entries = commands(root, bazel(root, "info", "--noshow_progress", "output_base").strip(), actions)
    with open(os.path.join(root, "compile_commands.json"), "w") as out:
        json.dump(entries, out, indent=1)
    print("%d commands" % len(entries))


if __name__ == "__main__":
    main()
