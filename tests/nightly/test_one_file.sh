#!/bin/sh
# SPDX-License-Identifier: MIT
# test_one_file.sh DIRECTORY SOURCE [all]: compiles bloomfile.c and the headers in DIRECTORY, as a program would. There must be no
# warnings, the exported symbols must be the library's, and the golden files must be readable. With `all`: tests gcc and
# clang with each set of parts. Each must refuse exactly the files that need a missing part.
set -eu
directory=$(realpath "$1") source=$(realpath "$2") sets=${3-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "$*"
    exit 1
}

# compiles COMPILER MACROS FLAGS...: makes bloomfile.o
compiles() {
    compiler=$1 macros=$2
    shift 2
    $compiler $macros "$@" -Wall -Wextra -Werror -c "$directory/bloomfile.c" -o bloomfile.o || fail "$compiler $macros"
}

# reads COMPILER LIBRARIES: prints the output of `reads` for all golden files, good and bad
reads() {
    "$1" -O1 -I"$directory" "$source/tests/nightly/consumers/reads.c" bloomfile.o -pthread $2 -o reads || fail "reads: $1"
    (cd "$source/tests" && find golden golden-refused -name '*.bloom' | sort | xargs "$work/reads")
}

libraries="-lm -ldeflate"
cc=${CC:-cc}
compiles "$cc" "" -O2
nm -g --defined-only bloomfile.o | awk '{ print $3 }' | sort >exported
grep -oE 'bloomfile_\w+;' "$source/lib/bloomfile.sym" | tr -d ';' | sort | diff - exported || fail "other symbols"
reads "$cc" "$libraries" >whole
awk -F '\t' '$4 == 0' whole | wc -l | xargs test 200 -lt || fail "reads opens too few files"
for consumer in consumer.c consumer.cc; do
    case $consumer in *.cc) compiler=${CXX:-c++} ;; *) compiler=$cc ;; esac
    $compiler -I"$directory" "$source/tests/nightly/consumers/$consumer" bloomfile.o -pthread $libraries -o consumer
    ./consumer fruit.bloom | grep -qx 'fruit: 3 keys, 2 of 3 found, stone: no' || fail "$consumer answers wrongly"
done

# A reader only: without the library, and at most 80 KiB of machine code with gcc.
compiles "$cc" "-DBLOOMFILE_NO_BUILD -DBLOOMFILE_NO_RIBBON" -O2
reads "$cc" "" >reader
code=$(size -A bloomfile.o | awk '/^\.text/ { sum += $2 } END { print sum }')
echo "a reader of sealed files: $code bytes of code"
case $($cc -dumpmachine)-$($cc --version | head -n 1) in x86_64*clang*) ;; x86_64*) [ "$code" -le 81920 ] || fail "more than 80 KiB" ;; esac

# refuses MACROS: checks that `left` has the whole library's output, except for files of parts that were left out
refuses() {
    awk -F '\t' -v macros="$1" '
        NR == FNR { whole[$1 FS $3] = $0; next }
        {
            split(whole[$1 FS $3], was, FS)
            without = macros ~ /_BUILD/ && $2 != "ribbon" && $2 != "-" || macros ~ /_RIBBON/ && $2 == "ribbon" ||
                macros ~ /_LIVE/ && $2 ~ /live|series/ || macros ~ /_SERIES/ && $2 ~ /series/
            if (was[4] == "0" && without ? $4 != "BLOOMFILE_EFEATURE" : $0 != whole[$1 FS $3] && $4 != "BLOOMFILE_EFEATURE") {
                print "reads otherwise with", macros ":"
                print whole[$1 FS $3]
                print
                wrong = 1
            }
            if (was[4] == "0" && !without && $4 != "0")
                wrong = 1
            lines++
        }
        END { exit wrong || lines == 0 }' whole "$2" || fail "$1"
}
refuses "-DBLOOMFILE_NO_BUILD -DBLOOMFILE_NO_RIBBON" reader
[ -n "$sets" ] || exit 0

for compiler in gcc clang; do
    for ribbon in "" -DBLOOMFILE_NO_RIBBON; do
        for left in "" -DBLOOMFILE_NO_SERIES -DBLOOMFILE_NO_LIVE -DBLOOMFILE_NO_PATCHES \
            "-DBLOOMFILE_NO_PATCHES -DBLOOMFILE_NO_SERIES" "-DBLOOMFILE_NO_PATCHES -DBLOOMFILE_NO_LIVE" -DBLOOMFILE_NO_BUILD; do
            case $compiler in gcc) level=-O2 ;; clang) level=-O0 ;; esac
            compiles $compiler "$left $ribbon" $level
            reads $compiler "$libraries" >part
            refuses "$left $ribbon" part
        done
    done
done

# The same from the files of lib/, with meson.
for parts in "" ribbon build,patches build,live build,ribbon,live,series; do
    left=
    for part in build ribbon live series patches; do
        case ,$parts, in *",$part,"*) ;; *) left="$left -DBLOOMFILE_NO_$(echo "$part" | tr a-z A-Z)" ;; esac
    done
    meson setup -Dparts="$parts" -Dtools=false -Dtests=false built "$source" >log && ninja -C built lib/libbloomfile.a >log ||
        { cat log; fail "parts: $parts"; }
    cp built/lib/libbloomfile.a bloomfile.o
    reads "$cc" "$libraries" >part
    refuses "$left" part
    rm -rf built
done
