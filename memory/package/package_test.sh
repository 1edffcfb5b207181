#!/bin/bash
# The memory library as somebody else gets it: installed into an empty folder, found by pkg-config, used by programs that
# plain g++ and gcc built.
set -eu
library=$1 template=$2 install_tree=$3 cc_program=$4 c_program=$5
shift 5  # the headers, relative to the workspace
work=$(mktemp -d --tmpdir="${TEST_TMPDIR:-/tmp}")
fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { [[ "$1" == *"$2"* ]] || fail "no '$2' in: $1"; }

if "$install_tree" "$work/nothing" 2>/dev/null; then fail "install_tree took a command line without a library"; fi
"$install_tree" "$work/prefix" "$library" "$template" . "$@"
for header in memory/allocator/caching_allocator.h memory/arena/offset_planner.h memory/c_api/tidemark_memory.h; do
  [ -f "$work/prefix/include/tidemark/$header" ] || fail "no $header in the package"
done

export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
grep -qF "\"$(pkg-config --modversion tidemark-memory)\"" base/version.h || fail "the version is not that of base/version.h"
# shellcheck disable=SC2046  # flags are words
g++ -o "$work/in_cc" "$cc_program" $(pkg-config --cflags --libs tidemark-memory)
# The flags name the language level of C++, which a C compiler does not take.
gcc -o "$work/in_c" "$c_program" $(pkg-config --cflags-only-I --libs tidemark-memory)

cd "$work"  # away from the workspace: nothing but the prefix may be needed
out=$("$work/in_cc")
expect "$out" "planned 7000 lower bound 7000"
expect "$out" "requested 5000000 reserved 6291456"
expect "$out" "given back 6291456"
out=$("$work/in_c")
expect "$out" "too large: "
expect "$out" "64.0 MiB"
expect "$out" "requested 5000000 refused 1"
expect "$out" "given back 6291456"
nm -D --defined-only "$work/prefix/lib/libtidemark_memory.so" | grep -q ' T tidemark_alloc$' || fail "tidemark_alloc is not exported"
others=$(nm -D --defined-only "$work/prefix/lib/libtidemark_memory.so" | grep -cvE '[ _]tidemark_|8tidemark' || true)
[ "$others" -eq 0 ] || fail "$others symbols that are not ours are exported"
if ldd "$work/prefix/lib/libtidemark_memory.so" | grep -q libcuda.so; then fail "the library links libcuda"; fi
echo "package_test: passed"
