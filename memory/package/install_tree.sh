#!/bin/bash
# Puts the memory library where other programs look for it:
#
#   install_tree.sh PREFIX LIBRARY PC_TEMPLATE HEADER_ROOT HEADER...    each HEADER relative to HEADER_ROOT
#
# PREFIX/lib/libtidemark_memory.so, PREFIX/lib/pkgconfig/tidemark-memory.pc, PREFIX/include/tidemark/...
set -eu
[ $# -ge 5 ] || { echo "install_tree: usage: install_tree.sh PREFIX LIBRARY PC_TEMPLATE HEADER_ROOT HEADER..." >&2; exit 2; }
library=$2 template=$3 root=$4
mkdir -p "$1/lib/pkgconfig" "$1/include/tidemark"
prefix=$(cd "$1" && pwd)
shift 4

install -m 755 "$library" "$prefix/lib/libtidemark_memory.so"
version=$(sed -n 's|.* kVersion = "\([^"]*\)";.*|\1|p' "$root/base/version.h")
[ -n "$version" ] || { echo "install_tree: no version in $root/base/version.h" >&2; exit 1; }
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$template" >"$prefix/lib/pkgconfig/tidemark-memory.pc"
for header in "$@"; do install -D -m 644 "$root/$header" "$prefix/include/tidemark/$header"; done
