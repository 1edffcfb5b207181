"""Which room may include which: no arrow runs back up, and no two rooms include each other."""
import os
import re

# The house, from the ground up. A room may include itself, third-party code, and the rooms named here.
ALLOWED = {
    "base": [],
    "device": ["base"],
    "memory": ["base", "device"],
    "graph": ["base"],
    "ops": ["base", "device", "graph"],
    "monitoring": ["base"],
    "framework": ["base", "device", "memory", "graph", "ops", "monitoring"],
}
ALL_ROOMS = list(ALLOWED)
ALLOWED["examples"] = ALL_ROOMS
ALLOWED["tests"] = ALL_ROOMS
ALLOWED["bazel"] = []
ALLOWED["third_party"] = []

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
CPP = (".h", ".cc", ".cu", ".cuh", ".inc")


def includes_of(path):
    """[(line number, included path)] of the includes in quotes."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return [(number, match.group(1)) for number, line in enumerate(file, 1) for match in [INCLUDE.match(line)] if match]


def check_includes(path, includes):
    """Errors about one file's includes."""
    room = path.split("/")[0]
    errors = []
    for number, included in includes:
        target = included.split("/")[0]
        where = "%s:%d: " % (path, number)
        if "/" not in included:
            errors.append(where + "include paths begin at the workspace's root: \"%s\"" % included)
        elif target not in ALLOWED:
            errors.append(where + "no room is called '%s'" % target)
        elif room in ALLOWED and target != room and target not in ALLOWED[room]:
            allowed = ", ".join(ALLOWED[room]) or "nothing of ours"
            errors.append(where + "%s/ may not include %s/ (it uses %s)" % (room, target, allowed))
    return errors


def folder_of(path):
    """The folder inside a room that a file belongs to (memory/arena), or None for a room's own files.

    Those are the room's common ground and its lists: ops/all_ops.cc includes every op, and every op ops/kernel.h.
    """
    parts = os.path.dirname(path).split("/")
    return "/".join(parts[:2]) if len(parts) > 1 else None


def find_cycle(edges):
    """A list of folders that include each other in a ring, or None. edges: {folder: {folder}}."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder):] + [folder]
        if folder in done:
            return None
        path.append(folder)
        for target in sorted(edges.get(folder, ())):
            cycle = visit(target)
            if cycle:
                return cycle
        path.pop()
        done.add(folder)
        return None

    for start in sorted(edges):
        cycle = visit(start)
        if cycle:
            return cycle
    return None


def check_files(paths):
    """(errors, warnings). A ring inside a room is a warning: Bazel's targets may still be in order."""
    errors, warnings, edges = [], [], {}
    for path in paths:
        if not path.endswith(CPP) or "/" not in path:
            continue
        includes = includes_of(path)
        errors += check_includes(path, includes)
        folder = folder_of(path)
        if folder and not path.endswith("_test.cc"):
            targets = {folder_of(included) for _, included in includes}
            edges.setdefault(folder, set()).update(targets - {folder, None})
    cycle = find_cycle(edges)
    if cycle:
        warnings.append("%s: folders include each other in a ring: %s" % (cycle[0], " -> ".join(cycle)))
    return errors, warnings
