"""C++ files look as clang-format (.clang-format) leaves them."""
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

CPP = (".h", ".cc", ".cu", ".cuh", ".inc")
FILES_A_CALL = 20


def check_some(paths):
    out = subprocess.run(["clang-format", "--dry-run", "--ferror-limit=1"] + paths, capture_output=True, text=True).stderr
    return [line.split(" warning: ")[0] + " not formatted (tools/lint --fix)"
            for line in out.splitlines() if " warning: code should be clang-formatted" in line]


def fix_some(paths):
    subprocess.run(["clang-format", "-i"] + paths, check=True)
    return []


def check_files(paths, fix):
    """(errors, notes). With fix, formats instead of reporting."""
    paths = [path for path in paths if path.endswith(CPP)]
    if not shutil.which("clang-format"):
        return [], ["no clang-format here: format unchecked"]
    chunks = [paths[i:i + FILES_A_CALL] for i in range(0, len(paths), FILES_A_CALL)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for found in pool.map(fix_some if fix else check_some, chunks) for line in found], []
