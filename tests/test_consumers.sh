#!/bin/sh
# SPDX-License-Identifier: MIT
# test_consumers.sh BUILD SOURCE: programs that use the installed library, found by pkg-config: shared and
# static, in several versions of C and C++, by each compiler that is there, and by meson.
. "$(dirname "$0")/installed.sh"

fail() {
    echo "$*"
    exit 1
}

# runs PROGRAM: it says what a consumer should
runs() {
    "$1" "$work/fruit.bloom" >got || fail "$name: exit status $?"
    echo 'fruit: 3 keys, 2 of 3 found, stone: no' | cmp - got || fail "$name answers wrongly"
    rm "$work/fruit.bloom"
}

# builds NAME COMMAND...
builds() {
    name=$1
    shift
    "$@" -o consumer -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual \
        -Wundef -Wwrite-strings -Wredundant-decls -Wformat=2 -Werror ${SANITIZE-} ||
        fail "$name does not build"
    runs ./consumer
}

c=$source/tests/consumers/consumer.c cc=$source/tests/consumers/consumer.cc
for_c='-Wstrict-prototypes -Wmissing-prototypes -Wc++-compat'
for_cc='-Wold-style-cast -Wzero-as-null-pointer-constant -Woverloaded-virtual'

[ "$(pkg-config --print-requires bloomfile)" = "" ] || fail "a shared library asks for others"
[ "$(pkg-config --print-requires-private bloomfile | sed 's/ .*//' | sort | xargs)" = "libdeflate zlib" ] ||
    fail "Requires.private is not that of the static library"
shared=$(pkg-config --cflags --libs bloomfile)
static=$(pkg-config --cflags --libs --static bloomfile)
case $shared in *-lz* | *-lm*) fail "programs are told to link what the library does: $shared" ;; esac
archive=$(echo "$static" | sed 's/-lbloomfile/-l:libbloomfile.a/')

# alone COMPILER OPTION...: each header is complete in itself, without a warning.
alone() {
    for header in "$headers"/bloomfile*.h; do
        echo "#include <$(basename "$header")>" | "$@" -I"$headers" -Wall -Wextra -Wpedantic -Wconversion \
            -Wshadow -Wundef -Wredundant-decls -Werror -fsyntax-only - || fail "$*: $header cannot stand alone"
    done
}

# all C-COMPILER C++-COMPILER
all() {
    alone "$1" -xc -std=c99 -Wc++-compat -Wstrict-prototypes
    alone "$2" -xc++ -std=c++11 -Wold-style-cast -Wzero-as-null-pointer-constant
    for std in c99 c11 gnu17; do
        builds "$1, $std, shared" $1 -std=$std $for_c "$c" $shared
    done
    for std in c++11 c++17 c++20; do
        builds "$2, $std, shared" $2 -std=$std $for_cc "$cc" $shared
    done
    builds "$1, for this processor" $1 -std=c11 -O2 -march=native $for_c "$c" $shared
    builds "$2, for this processor" $2 -std=c++17 -O2 -march=native $for_cc "$cc" $shared
    builds "$1, static" $1 -std=c11 $for_c "$c" $archive
    builds "$2, static" $2 -std=c++17 $for_cc "$cc" $archive
    readelf -d consumer | grep -q 'NEEDED.*bloomfile' && fail "$name needs the shared library"
    if [ -n "${SANITIZE-}" ]; then
        echo "$1: no program of static libraries alone with a sanitizer"
    elif [ ! -e "$($1 -print-file-name=libz.a)" ] || [ ! -e "$($1 -print-file-name=libdeflate.a)" ]; then
        echo "$1: no program of static libraries alone, as libz.a or libdeflate.a is missing"
    else
        builds "$1, all static" $1 -std=c11 -static $for_c "$c" $static
    fi
    echo "$1 and $2: good"
}

for compilers in "gcc g++" "clang clang++"; do
    set -- $compilers
    if ! command -v "$1" >/dev/null || ! command -v "$2" >/dev/null; then
        echo "$1 or $2 is not here: left out"
    elif [ -n "${SANITIZE-}" ] && [ "$1" != "${CC:-cc}" ]; then
        echo "$1 would bring another sanitizer: left out"
    else
        all "$1" "$2"
    fi
done

name=meson
meson setup meson "$source/tests/consumers" --wrap-mode=nofallback --buildtype=plain \
    -Db_sanitize="$(echo "${SANITIZE:-none}" | sed 's/-fsanitize=//')" -Db_lundef=false >log &&
    ninja -C meson >>log || { cat log; fail "meson cannot build"; }
runs meson/consumer-c
runs meson/consumer-cpp
echo "meson: good"
