#!/bin/sh
# SPDX-License-Identifier: MIT
# test_install.sh BUILD SOURCE: installs into an empty DESTDIR, and builds README.md's example against it
# as a stranger would: by pkg-config, shared and static, as C and as C++.
set -eu
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

DESTDIR=$root meson install -C "$build" --no-rebuild >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
header=$(find "$root" -name bloomfile.h)
shared=$(find "$root" -name libbloomfile.so)
pc=$(find "$root" -name bloomfile.pc)
for tool in bfcreate bfquery bfinspect; do
    test -x "$(find "$root" -path "*/bin/$tool")"
    test -s "$(find "$root" -path "*/man1/$tool.1")"
done
if nm "$shared" | grep -q __gcov_; then
    echo "a build for coverage is not one to install"
    exit 77
fi
readelf -d "$shared" | grep -q 'SONAME.*libbloomfile\.so\.0'
if nm -D --defined-only "$shared" | awk '{print $3}' | grep -v '^bloomfile_\|^BLOOMFILE_0\|^__asan\|^__ubsan\|^__odr_asan'; then
    echo "symbols that are not ours are exported"
    exit 1
fi

if nm -g --defined-only "$(dirname "$shared")/libbloomfile.a" | awk 'NF == 3 {print $3}' |
    grep -v '^bloomfile_\|^__asan\|^__ubsan\|^__odr_asan\|^DW\.ref\|^__llvm\|^_GLOBAL_'; then
    echo "symbols in the archive could clash with a program's own"
    exit 1
fi

sed -n '/^```c$/,/^```$/{/^```/!p}' "$source/README.md" >"$work/fruit.c"
cp "$work/fruit.c" "$work/fruit.cc"
PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
LD_LIBRARY_PATH=$(dirname "$shared")
export LD_LIBRARY_PATH
cd "$work"

# try NAME COMPILER...: the example, built that way, says what README.md says of it.
try() {
    name=$1
    shift
    "$@" || { echo "$name does not build"; exit 1; }
    printf 'apple: maybe\nstone: no\n' >expected
    ./a.out >got
    cmp expected got || { echo "$name answers wrongly"; exit 1; }
    rm -f a.out fruit.bloom
}

warnings="-Wall -Wextra -Wpedantic -Werror"
flags=$(pkg-config --cflags --libs bloomfile)
static=$(pkg-config --cflags --static --libs bloomfile)
try shared ${CC:-cc} -std=c11 $warnings fruit.c $flags ${SANITIZE-}
try "static" ${CC:-cc} -std=c11 $warnings fruit.c "$(dirname "$shared")/libbloomfile.a" \
    -I"$(dirname "$header")" $(echo "$static" | sed 's/-lbloomfile//') ${SANITIZE-}
try "C++17" ${CXX:-c++} -std=c++17 $warnings fruit.cc $flags ${SANITIZE-}
echo "shared, static and C++17: all good"
