#!/bin/sh
# SPDX-License-Identifier: MIT
# test_install.sh BUILD SOURCE: what is installed, which symbols it has, and README.md's examples built
# against it: that of C as C and as C++, and that of C++.
. "$(dirname "$0")/installed.sh"

for tool in bfcreate bfquery bfinspect; do
    test -x "$(find "$root" -path "*/bin/$tool")"
    test -s "$(find "$root" -path "*/man1/$tool.1")"
    for path in bash-completion/completions/$tool zsh/site-functions/_$tool fish/vendor_completions.d/$tool.fish; do
        test -s "$(find "$root" -path "*/share/$path")" || { echo "$path is not installed"; exit 1; }
    done
done
readelf -d "$shared" | grep -q 'SONAME.*libbloomfile\.so\.0'
cat "$headers"/bloomfile*.h | tr '\n' ' ' | grep -o 'BLOOMFILE_API [^;(]*bloomfile_[a-z_]*(' |
    grep -o 'bloomfile_[a-z_]*(' | tr -d '(' | sort -u >declared
nm -D --defined-only "$shared" | awk '{print $3}' | sed 's/@.*//' |
    grep -v '^BLOOMFILE_\|^__asan\|^__ubsan\|^__odr_asan' | sort -u >exported
diff declared exported || { echo "the headers declare (<) and the library exports (>) different functions"; exit 1; }
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

# README.md's first block of C, and what it prints: what stands below the command in the block after it.
sed -n '/^```c$/,/^```$/{/^```/!p;/^```$/q}' "$source/README.md" >fruit.c
sed -n '/^\$ cc fruit.c /,/^```$/{/^[$`]/!p}' "$source/README.md" >expected
cp fruit.c fruit.cc
sed -n '/^```cpp$/,/^```$/{/^```/!p;/^```$/q}' "$source/README.md" >plus.cc
test "$(wc -l <fruit.c)" -le 20 || { echo "the example in README.md has more than 20 lines"; exit 1; }
test -s expected || { echo "README.md does not state what its example prints"; exit 1; }

version=$(sed -n 's/^#define BLOOMFILE_VERSION_[A-Z]* //p' "$source/include/bloomfile.h" | paste -sd.)
test "$(pkg-config --modversion bloomfile)" = "$version" ||
    { echo "bloomfile.h is of version $version, pkg-config says another"; exit 1; }

# try NAME COMPILER...: the example, built that way, prints that.
try() {
    name=$1
    shift
    "$@" -Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags --libs bloomfile) ${SANITIZE-} ||
        { echo "$name does not build"; exit 1; }
    ./a.out >got
    cmp expected got || { echo "$name answers wrongly"; exit 1; }
    rm a.out fruit.bloom
}
try "C11" ${CC:-cc} -std=c11 fruit.c
try "C++17" ${CXX:-c++} -std=c++17 fruit.cc
try "bloomfile.hpp" ${CXX:-c++} -std=c++17 plus.cc
echo "files, symbols and the example: all good"
