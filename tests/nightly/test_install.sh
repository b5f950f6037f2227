#!/bin/sh
# SPDX-License-Identifier: MIT
# test_install.sh BUILD SOURCE: the installed files and symbols, and the examples of README.md, doc/c.md and
# doc/engines.md built against them: the first two in C and C++.
. "$(dirname "$0")/installed.sh"

for tool in bfcreate bfquery bfinspect; do
    test -x "$(find "$root" -path "*/bin/$tool")"
    test -s "$(find "$root" -path "*/man1/$tool.1")"
    for path in bash-completion/completions/$tool zsh/site-functions/_$tool fish/vendor_completions.d/$tool.fish; do
        test -s "$(find "$root" -path "*/share/$path")" || { echo "$path is not installed"; exit 1; }
    done
done
readelf -d "$shared" | grep -q 'SONAME.*libbloomfile\.so\.1\]'
# functions HEADER...: the functions that the headers declare.
functions() {
    cat "$@" | tr '\n' ' ' | grep -o 'BLOOMFILE_API [^;(]*bloomfile_[a-z_]*(' | grep -o 'bloomfile_[a-z_]*(' | tr -d '(' | sort -u
}
# The functions of one header have a symbol node of their own, and no other header needs it.
functions "$headers/bloomfile_unstable.h" >unstable
functions $(find "$headers" -name 'bloomfile*.h' ! -name bloomfile_unstable.h) >stable
sort stable unstable >declared
sed 's/$/@@BLOOMFILE_UNSTABLE/' unstable >with_nodes
sed 's/$/@@BLOOMFILE_1/' stable >>with_nodes
nm -D --defined-only "$shared" | awk '$2 != "A" {print $3}' | grep -v '^__asan\|^__ubsan\|^__odr_asan' | sort >exported
sort with_nodes | diff - exported || { echo "the headers declare (<) and the library exports (>) different functions"; exit 1; }
if grep -l "include <bloomfile_unstable" $(find "$headers" -name 'bloomfile*.h' ! -name bloomfile_unstable.h ! -name bloomfile_block.h) \
    "$headers"/bloomfile.hpp "$headers"/bloomfile/*.hpp; then
    echo "a stable header needs the unstable one"
    exit 1
fi
test "$(wc -l <stable)" -le 77 || { echo "the stable headers have more than 77 functions"; exit 1; }
test "$(wc -l <"$headers/bloomfile.h")" -le 330 || { echo "bloomfile.h has more than 330 lines"; exit 1; }
if nm -g --defined-only "$libdir/libbloomfile.a" | awk 'NF == 3 {print $3}' |
    grep -v '^bloomfile_\|^__asan\|^__ubsan\|^__odr_asan\|^DW\.ref\|^__llvm\|^_GLOBAL_'; then
    echo "symbols in the archive could clash with a program's own"
    exit 1
fi

man3=$(dirname "$(find "$root" -name bloomfile.h.3)")
for name in bloomfile $(cat declared); do
    test -s "$man3/$name.3" || { echo "there is no manual page $name(3)"; exit 1; }
done
for path in man/man5/bloomfile.5 misc/bloomfile.magic mime/packages/bloomfile.xml; do
    test -s "$man3/../../$path" || { echo "$path is not installed"; exit 1; }
done

# block PAGE LANGUAGE: the page's first block in that language; printed PAGE PROGRAM.c: the lines below the command that
# compiles it.
block() { sed -n "/^\`\`\`$2\$/,/^\`\`\`\$/{/^\`\`\`/!p;/^\`\`\`\$/q}" "$source/$1"; }
printed() {
    sed -n "/^\\\$ cc $2 /,/^\`\`\`\$/{/^[\$\`]/!p}" "$source/$1" >expected
    test -s expected || { echo "$1 does not state what $2 prints"; exit 1; }
}
block README.md c >look.c
block doc/c.md c >fruit.c
block doc/c.md cpp >plus.cc
test "$(wc -l <look.c)" -le 8 || { echo "the example in README.md has more than 8 lines"; exit 1; }
test "$(wc -l <fruit.c)" -le 20 || { echo "the example in doc/c.md has more than 20 lines"; exit 1; }
cp look.c look.cc
cp fruit.c fruit.cc

# try NAME COMPILER...: the example, built that way, must print that.
try() {
    name=$1
    shift
    command -v "$1" >/dev/null || { echo "skipped: needs a C++ compiler (Debian: g++)" && return; }
    "$@" -Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags --libs bloomfile) ${SANITIZE-} ||
        { echo "$name does not build"; exit 1; }
    ./a.out >got || { echo "$name fails"; exit 1; }
    cmp expected got || { echo "$name answers wrongly"; exit 1; }
    rm a.out
}
seq 1000 | "$(find "$root" -path '*/bin/bfcreate')" orders.bloom -
printed README.md look.c
try "README.md in C11" ${CC:-cc} -std=c11 look.c
try "README.md in C++17" ${CXX:-c++} -std=c++17 look.cc
printed doc/c.md fruit.c
try "C11" ${CC:-cc} -std=c11 fruit.c
try "C++17" ${CXX:-c++} -std=c++17 fruit.cc
try "bloomfile.hpp" ${CXX:-c++} -std=c++17 plus.cc
block doc/engines.md c >table.c
: >expected
try "doc/engines.md" ${CC:-cc} -std=c11 table.c
echo "files, symbols and the example: all good"
